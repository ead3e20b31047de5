import { lstatSync } from "node:fs"
import type { Stats } from "node:fs"
import { dirname } from "node:path"

import type { Logger } from "../../base/logger.ts"
import { makeDirectories } from "../../base/make-directories.ts"
import { randomHex } from "../../base/random-and-hash.ts"
import { isNotFound } from "../../base/system-error.ts"
import { unpackDownload } from "./sync-archive.ts"
import type { DownloadTarget, UploadedFile } from "./sync-archive.ts"
import { DOWNLOAD_SCRIPT, LIST_SCRIPT } from "./sync-scripts.ts"
import type { RunSyncScript } from "./sync-scripts.ts"
import { downloadedRoots, downloadPath, downloadRule, MAX_FILES } from "./synced-files.ts"
import type { SyncedPaths } from "./synced-files.ts"

export interface DownloadOptions {
  readonly paths: SyncedPaths
  readonly base: string
  readonly workspaceName: string
  readonly runScript: RunSyncScript
  readonly log: Logger
  readonly signal: AbortSignal
  readonly uploaded: ReadonlyMap<string, UploadedFile>
  /** Files that existed remotely before the first upload. */
  readonly preexisting: ReadonlySet<string>
  /** Whether files that were never uploaded may be downloaded; false when another Hermes uses the same directory. */
  readonly includeNew: boolean
}

const MAX_BYTES = 2 * 1024 ** 3
const PART_BYTES = 8 * 1024 * 1024
/** Header and padding of an archive entry, with room for long names. */
const ENTRY_OVERHEAD_BYTES = 8 * 1024
const ARCHIVE_OVERHEAD_BYTES = 64 * 1024
/** The names are passed quoted on a command line. */
const MAX_NAMES_BYTES = 24 * 1024

/** Downloads the files that were changed remotely. Keeps a local file that has been changed meanwhile. */
export async function downloadChanges(options: DownloadOptions): Promise<void> {
  const { paths, log, workspaceName } = options
  const output = await options.runScript(LIST_SCRIPT, [options.base, ...downloadedRoots(paths)], {
    signal: options.signal,
  })
  const candidates = parseListing(output.toString("utf8")).filter((file) => shouldDownload(file, options))
  const { chosen, skipped } = withinLimit(candidates)
  if (skipped > 0)
    log.warning(
      `skipped ${skipped} changed files in ${workspaceName}: together they are too large or too many to download`,
    )
  const wanted = new Map(
    chosen.flatMap((file) => {
      const { path } = file
      const target = downloadTarget(file, options)
      return target === undefined ? [] : [[path, target] as const]
    }),
  )
  let count = 0
  for (const names of inGroups([...wanted.keys()])) {
    const files = names.reduce((bytes, name) => bytes + (wanted.get(name)?.size ?? 0) + ENTRY_OVERHEAD_BYTES, 0)
    const parts = archiveParts(names, { ...options, maxBytes: files + ARCHIVE_OVERHEAD_BYTES })
    count += (await unpackDownload(parts, wanted)).length
  }
  if (count > 0) log.info(`downloaded ${count} changed files from ${workspaceName}`)
}

interface ListedFile {
  readonly path: string
  readonly hash: string
  readonly size: number
}

/** Parses lines of `sha256sum`, then lines of sizes. Skips names that contain a line break. */
function parseListing(text: string): readonly ListedFile[] {
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
    if (!Number.isSafeInteger(size) || size < 0) return []
    return [{ path, hash, size }]
  })
}

function shouldDownload(
  { path, hash }: ListedFile,
  { paths, uploaded, preexisting, includeNew }: DownloadOptions,
): boolean {
  const rule = downloadRule(path, paths)
  if (rule === "never") return false
  const known = uploaded.get(path)
  if (known !== undefined) return known.hash !== hash
  return rule === "new-or-changed" && includeNew && !preexisting.has(path)
}

function withinLimit(files: readonly ListedFile[]) {
  let bytes = 0
  let count = 0
  const chosen = files.filter(({ size }) => {
    if (bytes + size > MAX_BYTES || count === MAX_FILES) return false
    bytes += size
    count += 1
    return true
  })
  return { chosen, skipped: files.length - chosen.length }
}

/** Undefined when the local file is newer or removed, or when a link would redirect the download. */
function downloadTarget(
  { path, hash, size }: ListedFile,
  { paths, uploaded, log }: DownloadOptions,
): DownloadTarget | undefined {
  const target = downloadPath(path, paths.home)
  if (target === undefined) {
    log.warning(`${path} was not downloaded: a link in ${paths.home} redirects it`)
    return undefined
  }
  const known = uploaded.get(path)
  const mayReplace = (): boolean => {
    if (downloadPath(path, paths.home) === undefined) return false
    const local = lstatIfExists(target)
    if (known === undefined) return local === undefined
    return local?.isFile() === true && local.size === known.size && Math.trunc(local.mtimeMs) === known.modifiedMs
  }
  if (!mayReplace()) {
    log.info(`${path} was not downloaded: it was changed or removed on this machine too`)
    return undefined
  }
  makeDirectories(dirname(target))
  return { hash, size, target, mode: (lstatIfExists(target)?.mode ?? 0o600) & 0o777, mayReplace }
}

function lstatIfExists(path: string): Stats | undefined {
  try {
    return lstatSync(path)
  } catch (error) {
    if (isNotFound(error)) return undefined
    throw error
  }
}

async function* archiveParts(
  names: readonly string[],
  { base, runScript, signal, maxBytes }: DownloadOptions & { readonly maxBytes: number },
): AsyncGenerator<Uint8Array, void, void> {
  const stage = `stage-${randomHex(8)}`
  // A name with a leading dash would be parsed as an option.
  const files = names.map((name) => `./${name}`)
  for (let start = 1, size = 1; start <= size; start += PART_BYTES) {
    const part = [base, stage, String(start), String(PART_BYTES)]
    const output = await runScript(DOWNLOAD_SCRIPT, start === 1 ? [...part, ...files] : part, { signal })
    const end = output.indexOf(10)
    size = Number(output.subarray(0, end).toString("latin1"))
    if (!Number.isSafeInteger(size)) throw new Error("the workspace returned an invalid archive size")
    const content = output.subarray(end + 1)
    if (size > maxBytes || content.length > PART_BYTES)
      throw new Error("the workspace returned more data than it had announced")
    yield content
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
