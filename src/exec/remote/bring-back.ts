import { lstatSync } from "node:fs"
import type { Stats } from "node:fs"
import { dirname } from "node:path"

import type { Logger } from "../../base/logger.ts"
import { makeDirectories } from "../../base/make-directories.ts"
import { randomHex } from "../../base/random-and-hash.ts"
import { isNotFound } from "../../base/system-error.ts"
import { unpackReturning } from "./sync-archive.ts"
import type { Returning, SentFile } from "./sync-archive.ts"
import { LIST_SCRIPT, PULL_SCRIPT } from "./sync-scripts.ts"
import type { AskPlace } from "./sync-scripts.ts"
import { hostTarget, rootsOf, wayBack } from "./synced-files.ts"
import type { SyncedPlaces } from "./synced-files.ts"

export interface BringBackOptions {
  readonly places: SyncedPlaces
  readonly base: string
  readonly placeName: string
  readonly ask: AskPlace
  readonly log: Logger
  readonly signal: AbortSignal
  readonly sent: ReadonlyMap<string, SentFile>
  /** What was there before we sent anything. */
  readonly before: ReadonlySet<string>
  /** Whether files that we never sent may be ours at all. */
  readonly takesNew: boolean
}

const MAX_BYTES = 2 * 1024 ** 3
const PART_BYTES = 8 * 1024 * 1024
/** They travel on a command line, in quotes. */
const MAX_NAMES_BYTES = 24 * 1024

/** Fetches the files that were changed over there. What was changed on this machine meanwhile stays as it is. */
export async function bringBack(options: BringBackOptions): Promise<void> {
  const { places, log, placeName } = options
  const answer = await options.ask(LIST_SCRIPT, [options.base, ...rootsOf(places)], { signal: options.signal })
  const candidates = readListing(answer.toString("utf8")).filter((file) => isWanted(file, options))
  const { chosen, left } = withinLimit(candidates)
  if (left > 0) log.warning(`${left} changed files of ${placeName} are too large to be fetched; they stay there`)
  const wanted = new Map(
    chosen.flatMap(({ path, hash }) => {
      const returning = returningFile(path, hash, options)
      return returning === undefined ? [] : [[path, returning] as const]
    }),
  )
  let count = 0
  for (const names of inGroups([...wanted.keys()])) {
    count += (await unpackReturning(archiveParts(names, options), wanted)).length
  }
  if (count > 0) log.info(`${count} files fetched that were changed in ${placeName}`)
}

interface ListedFile {
  readonly path: string
  readonly hash: string
  readonly size: number
}

/** Lines of `sha256sum`, then lines of sizes. A name that does not fit into a line fits into no entry. */
function readListing(text: string): readonly ListedFile[] {
  const [sums = "", sizes = ""] = text.split("\u001E")
  const sizeOf = new Map(
    sizes.split("\n").map((line) => {
      const space = line.indexOf(" ")
      return [line.slice(space + 1), Number(line.slice(0, space))] as const
    }),
  )
  return sums.split("\n").flatMap((line) => {
    const { hash, path } = /^(?<hash>[0-9a-f]{64}) [ *](?<path>.+)$/.exec(line)?.groups ?? {}
    const size = path === undefined ? undefined : sizeOf.get(path)
    if (hash === undefined || path === undefined || size === undefined) return []
    return [{ path, hash, size }]
  })
}

function isWanted({ path, hash }: ListedFile, { places, sent, before, takesNew }: BringBackOptions): boolean {
  const way = wayBack(path, places)
  if (way === "never") return false
  const known = sent.get(path)
  if (known !== undefined) return known.hash !== hash
  return way === "new-or-changed" && takesNew && !before.has(path)
}

function withinLimit(files: readonly ListedFile[]) {
  let bytes = 0
  const chosen = files.filter(({ size }) => {
    if (bytes + size > MAX_BYTES) return false
    bytes += size
    return true
  })
  return { chosen, left: files.length - chosen.length }
}

/** Undefined where this machine has something newer, has removed the file, or would be led out of the home. */
function returningFile(path: string, hash: string, { places, sent, log }: BringBackOptions): Returning | undefined {
  const target = hostTarget(path, places.home)
  if (target === undefined) {
    log.warning(`${path} was not fetched: a link leads it out of ${places.home}`)
    return undefined
  }
  const known = sent.get(path)
  const mayReplace = (): boolean => {
    const here = factsOf(target)
    if (known === undefined) return here === undefined
    return here?.isFile() === true && here.size === known.size && Math.trunc(here.mtimeMs) === known.modifiedMs
  }
  if (!mayReplace()) {
    log.info(`${path} was changed or removed on this machine too, and was not fetched`)
    return undefined
  }
  makeDirectories(dirname(target))
  return { hash, target, mode: (factsOf(target)?.mode ?? 0o600) & 0o777, mayReplace }
}

function factsOf(path: string): Stats | undefined {
  try {
    return lstatSync(path)
  } catch (error) {
    if (isNotFound(error)) return undefined
    throw error
  }
}

async function* archiveParts(
  names: readonly string[],
  { base, ask, signal }: BringBackOptions,
): AsyncGenerator<Uint8Array, void, void> {
  const stage = `stage-${randomHex(8)}`
  // A leading dash would be an option.
  const files = names.map((name) => `./${name}`)
  for (let start = 1, size = 1; start <= size; start += PART_BYTES) {
    const which = [base, stage, String(start), String(PART_BYTES)]
    const answer = await ask(PULL_SCRIPT, start === 1 ? [...which, ...files] : which, { signal })
    const end = answer.indexOf(10)
    size = Number(answer.subarray(0, end).toString("latin1"))
    if (!Number.isSafeInteger(size)) throw new Error("the answer of the other place makes no sense")
    yield answer.subarray(end + 1)
  }
}

function inGroups(names: readonly string[]): readonly (readonly string[])[] {
  const groups: string[][] = []
  let bytes = 0
  for (const name of names) {
    bytes += Buffer.byteLength(name) + 3
    const last = groups.at(-1)
    if (last === undefined || bytes > MAX_NAMES_BYTES) {
      groups.push([name])
      bytes = Buffer.byteLength(name) + 3
    } else last.push(name)
  }
  return groups
}
