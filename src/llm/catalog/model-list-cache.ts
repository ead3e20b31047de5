import { mkdirSync, readFileSync } from "node:fs"
import { dirname } from "node:path"
import { writeFileAtomic } from "../../base/atomic-file.ts"
import { isRecord, parseJson } from "../../base/json.ts"
import type { Home } from "../../config/home.ts"
import { parseModelList, type ListedModel } from "./model-list.ts"
import type { Price } from "./prices.ts"

/** A model list and when it was fetched. */
export interface CachedList {
  readonly models: readonly ListedModel[]
  /** Milliseconds since the epoch. */
  readonly fetchedAt: number
}

const FRESH_MS = 3_600_000

export function isFresh(list: CachedList, now: number): boolean {
  return now - list.fetchedAt < FRESH_MS && list.fetchedAt <= now
}

/** Returns the last list fetched from a base URL; undefined when there is none. Never throws: the cache file is disposable. */
export function readCachedList(home: Home, baseUrl: string): CachedList | undefined {
  const entry = readEntries(home)[baseUrl]
  const models = isRecord(entry) ? parseModelList(entry["data"]) : undefined
  const fetchedAt = isRecord(entry) ? entry["fetched_at"] : undefined
  return models === undefined || typeof fetchedAt !== "number" ? undefined : { models, fetchedAt }
}

/** Returns one model of the cached list of a base URL. */
export function findListedModel(
  home: Home,
  { baseUrl, model }: { readonly baseUrl: string; readonly model: string },
): ListedModel | undefined {
  return readCachedList(home, baseUrl)?.models.find(({ id }) => id === model)
}

/** Stores a list. Throws the system error. */
export function storeList(home: Home, baseUrl: string, list: CachedList): void {
  const entry = { fetched_at: list.fetchedAt, data: list.models.map(entryOf) }
  const path = pathOf(home)
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  writeFileAtomic(path, JSON.stringify({ ...readEntries(home), [baseUrl]: entry }))
}

function pathOf(home: Home): string {
  return home.file("cache", "model_lists.json")
}

function readEntries(home: Home): Readonly<Record<string, unknown>> {
  try {
    const parsed = parseJson(readFileSync(pathOf(home), "utf8"))
    return isRecord(parsed) ? parsed : {}
  } catch {
    // Absent or unreadable: the lists are fetched again when needed.
    return {}
  }
}

/** Uses the format of fetched lists, so that one parser reads both. */
function entryOf({ id, contextLength, prices }: ListedModel): Record<string, unknown> {
  return {
    id,
    ...(contextLength === undefined ? {} : { context_length: contextLength }),
    ...(prices === undefined
      ? {}
      : {
          pricing: {
            ...perToken("prompt", prices.input),
            ...perToken("completion", prices.output),
            ...perToken("input_cache_read", prices.cacheRead),
            ...perToken("input_cache_write", prices.cacheWrite),
            ...(prices.request === undefined ? {} : { request: `${prices.request}e-9` }),
          },
        }),
  }
}

/** Writes a price as an integer with a power of ten: exact, and readable as a decimal. */
function perToken(name: string, price: Price): Record<string, string> {
  return price === null ? {} : { [name]: `${price}e-15` }
}
