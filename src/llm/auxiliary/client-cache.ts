import { fingerprint } from "../../base/random-and-hash.ts"
import { canonicalJson } from "../../base/json.ts"
import { ok } from "../../base/result.ts"
import type { Result } from "../../base/result.ts"
import type { ChosenModel } from "../choose-model.ts"
import type { ModelClient } from "../model.ts"
import type { Refusable } from "./ask.ts"

const MAX_CLIENTS = 64

/** Open clients with what their servers have refused. The one that was not used for the longest time makes room. */
export interface ClientCache {
  /** The client stays open while `work` uses it, also when it loses its place meanwhile. */
  use<T>(chosen: ChosenModel, work: (client: ModelClient, refused: Set<Refusable>) => Promise<T>): Promise<Result<T>>
  close(): void
}

interface Entry {
  readonly opening: Promise<Result<ModelClient>>
  readonly refused: Set<Refusable>
  client: ModelClient | undefined
  users: number
  dropped: boolean
}

export function createClientCache(open: (chosen: ChosenModel) => Promise<Result<ModelClient>>): ClientCache {
  const entries = new Map<string, Entry>()

  const drop = (key: string, entry: Entry): void => {
    if (entries.get(key) === entry) entries.delete(key)
    entry.dropped = true
    closeIfIdle(entry)
  }
  const take = (key: string, chosen: ChosenModel): Entry => {
    const entry = entries.get(key) ?? newEntry(open(chosen))
    entry.users += 1
    // Set again, so that the map stays in the order of use.
    entries.delete(key)
    entries.set(key, entry)
    const [oldest] = entries
    if (entries.size > MAX_CLIENTS && oldest !== undefined) drop(...oldest)
    return entry
  }

  return {
    use: async (chosen, work) => {
      const key = keyOf(chosen)
      const entry = take(key, chosen)
      try {
        const opened = await entry.opening
        if (!opened.ok) return opened
        entry.client = opened.value
        return ok(await work(opened.value, entry.refused))
      } finally {
        entry.users -= 1
        // What could not be opened may open the next time.
        if (entry.client === undefined) drop(key, entry)
        else closeIfIdle(entry)
      }
    },
    close: () => {
      for (const [key, entry] of entries) drop(key, entry)
    },
  }
}

function newEntry(opening: Promise<Result<ModelClient>>): Entry {
  return { opening, refused: new Set(), client: undefined, users: 0, dropped: false }
}

function closeIfIdle(entry: Entry): void {
  if (entry.dropped && entry.users === 0) entry.client?.close()
}

/** Everything a client is built from; the key itself is not kept. */
function keyOf({ runtime, key, headers, extraBody, managed }: ChosenModel): string {
  return canonicalJson([runtime, fingerprint(key ?? ""), managed, headers, extraBody])
}
