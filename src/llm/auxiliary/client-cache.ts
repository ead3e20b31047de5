import { fingerprint } from "../../base/random-and-hash.ts"
import { canonicalJson } from "../../base/json.ts"
import { ok } from "../../base/result.ts"
import type { Result } from "../../base/result.ts"
import type { ChosenModel } from "../choose-model.ts"
import type { ModelClient } from "../model.ts"
import type { OptionalParameter } from "./send-request.ts"

const MAX_CLIENTS = 64

/** Open clients with the parameters that their servers rejected. Evicts the least recently used client. */
export interface ClientCache {
  /** Keeps the client open while `work` uses it, even when it is evicted meanwhile. */
  use<T>(
    chosen: ChosenModel,
    work: (client: ModelClient, rejectedParameters: Set<OptionalParameter>) => Promise<T>,
  ): Promise<Result<T>>
  close(): void
}

interface Entry {
  readonly opening: Promise<Result<ModelClient>>
  readonly rejectedParameters: Set<OptionalParameter>
  client: ModelClient | undefined
  users: number
  evicted: boolean
}

export function createClientCache(open: (chosen: ChosenModel) => Promise<Result<ModelClient>>): ClientCache {
  const entries = new Map<string, Entry>()

  const evict = (key: string, entry: Entry): void => {
    if (entries.get(key) === entry) entries.delete(key)
    entry.evicted = true
    closeIfIdle(entry)
  }
  const take = (key: string, chosen: ChosenModel): Entry => {
    const entry = entries.get(key) ?? newEntry(open(chosen))
    entry.users += 1
    // Deleted and set again, so that the map stays in order of use.
    entries.delete(key)
    entries.set(key, entry)
    const [oldest] = entries
    if (entries.size > MAX_CLIENTS && oldest !== undefined) evict(...oldest)
    return entry
  }

  return {
    use: async (chosen, work) => {
      const key = cacheKey(chosen)
      const entry = take(key, chosen)
      try {
        const opened = await entry.opening
        if (!opened.ok) return opened
        entry.client = opened.value
        return ok(await work(opened.value, entry.rejectedParameters))
      } finally {
        entry.users -= 1
        // Do not cache a failure to open.
        if (entry.client === undefined) evict(key, entry)
        else closeIfIdle(entry)
      }
    },
    close: () => {
      for (const [key, entry] of entries) evict(key, entry)
    },
  }
}

function newEntry(opening: Promise<Result<ModelClient>>): Entry {
  return { opening, rejectedParameters: new Set(), client: undefined, users: 0, evicted: false }
}

function closeIfIdle(entry: Entry): void {
  if (entry.evicted && entry.users === 0) entry.client?.close()
}

/** Built from everything a client depends on; contains only a hash of the API key. */
function cacheKey({ runtime, key, headers, extraBody, usesPool }: ChosenModel): string {
  return canonicalJson([runtime, fingerprint(key ?? ""), usesPool, headers, extraBody])
}
