import { closeSync, constants, fstatSync, lstatSync, openSync, readdirSync, readFileSync, readlinkSync } from "node:fs"
import type { Dirent, Stats } from "node:fs"

import { errorCode } from "../../base/system-error.ts"
import { decodeByteString, toByteString, toNodePath } from "./byte-string.ts"
import { isExcluded } from "./excluded-names.ts"
import { encodeTree } from "./git-objects.ts"
import type { ObjectWriter } from "./object-writer.ts"
import { createTimeSlices } from "./time-slices.ts"
import type { TimeSlices } from "./time-slices.ts"
import type { DirectoryNode, FileNode, OmittedNode, StatData, TreeNode } from "./tree-node.ts"

export interface ScanOptions {
  readonly root: string
  /** Result of the last scan; entries whose `stat` data is unchanged are taken from it. */
  readonly previous: DirectoryNode | undefined
  readonly writer: ObjectWriter
  readonly maxFiles: number
  /** Returns the size limit in bytes for a path below the root. */
  readonly sizeLimit: (path: string) => number
  /** Absolute paths that are left out, such as the Hermes home. */
  readonly skipped: ReadonlySet<string>
  readonly signal: AbortSignal
}

export interface ScanResult {
  readonly root: DirectoryNode
  readonly files: number
  /** How many files were read. */
  readonly read: number
  /** Paths below the root that could not be read, for display. */
  readonly unreadable: readonly string[]
}

/** The workspace has more files than a checkpoint may hold. */
export class TooManyFilesError extends Error {
  override readonly name = "TooManyFilesError"
}

function tooManyFiles({ maxFiles }: ScanOptions): TooManyFilesError {
  return new TooManyFilesError(`the directory has more than ${maxFiles} files`)
}

/** Two changes within this time may have the same timestamp on file systems with coarse timestamps. */
const TIMESTAMP_RESOLUTION_MS = 2000

/**
 * Scans a workspace and stores what has changed. Calls `lstat` on every file, but lists only directories whose timestamp
 * changed and reads only files that changed. Works in short slices to keep the event loop responsive.
 */
export async function scanWorkspace(options: ScanOptions): Promise<ScanResult> {
  const scan: Scan = {
    ...options,
    prefix: toByteString(options.root).length + 1,
    files: 0,
    read: 0,
    unreadable: [],
    slices: createTimeSlices(options.signal),
  }
  const path = toByteString(options.root)
  const stats = lstatSync(toNodePath(path))
  if (!stats.isDirectory()) throw new Error(`${options.root} is not a directory`)
  // Nothing is stored of a workspace that turns out to be too large.
  if (options.previous === undefined && (await hasMoreFiles(options.root, options))) throw tooManyFiles(options)
  const root = await scanDirectory({ path, stats, previous: options.previous }, scan)
  if (root.kind === "omitted") throw new Error(`${options.root} cannot be read`)
  return { root, files: scan.files, read: scan.read, unreadable: scan.unreadable }
}

/** Whether a workspace has more than `maxFiles` files. Lists directories, but reads no files. */
export async function hasMoreFiles(
  root: string,
  { maxFiles, skipped, signal }: Pick<ScanOptions, "maxFiles" | "skipped" | "signal">,
): Promise<boolean> {
  const slices = createTimeSlices(signal)
  let files = 0
  const pending = [toByteString(root)]
  for (let path = pending.pop(); path !== undefined; path = pending.pop()) {
    for (const entry of entriesIn(path)) {
      const isDirectory = entry.isDirectory()
      const name = `${path}/${entry.name}`
      if (isExcluded(entry.name, isDirectory ? "directory" : "other") || skipped.has(name)) continue
      if (isDirectory) pending.push(name)
      else files += 1
    }
    if (files > maxFiles) return true
    if (slices.isOver()) await slices.next()
  }
  return false
}

function entriesIn(path: string): readonly Dirent[] {
  try {
    return readdirSync(toNodePath(path), { withFileTypes: true, encoding: "latin1" })
  } catch {
    // Unreadable or deleted meanwhile; the scan itself handles that.
    return []
  }
}

interface Scan extends ScanOptions {
  /** Length of the root with its slash: where the path below the root begins. */
  readonly prefix: number
  files: number
  read: number
  readonly unreadable: string[]
  readonly slices: TimeSlices
}

interface ScannedEntry<Node extends TreeNode> {
  readonly path: string
  readonly stats: Stats
  readonly previous: Node | undefined
}

async function scanDirectory(entry: ScannedEntry<DirectoryNode>, scan: Scan): Promise<DirectoryNode | OmittedNode> {
  const { path, stats, previous } = entry
  const statData = statDataOf(stats)
  const names = namesIn(entry)
  if (names === undefined) return unreadableEntry(path, scan)
  const children = new Map<string, TreeNode>()
  let unchanged = previous !== undefined
  for (const name of names) {
    const before = previous?.children.get(name)
    const found = scanEntry(`${path}/${name}`, { name, before, scan })
    const child = found instanceof Promise ? await found : found
    if (child === undefined) continue
    if (child.kind === "omitted" ? before?.kind !== "omitted" : !isSameObject(child, before)) unchanged = false
    children.set(name, child)
    if (scan.slices.isOver() || scan.writer.isCongested()) await yieldToEventLoop(scan)
  }
  if (previous !== undefined && unchanged && previous.children.size === children.size)
    return { kind: "directory", ...statData, children, id: previous.id }
  return { kind: "directory", ...statData, children, id: scan.writer.tree(encodeTree(children)) }
}

/**
 * Returns undefined for an unreadable directory. Uses the names of the last scan while the directory's own timestamp is
 * unchanged: creating, removing or renaming an entry changes it.
 */
function namesIn({ path, stats, previous }: ScannedEntry<DirectoryNode>): Iterable<string> | undefined {
  if (previous?.settled === true && isUnchanged(previous, stats)) return previous.children.keys()
  try {
    return readdirSync(toNodePath(path), "latin1")
  } catch (error) {
    if (isDenied(error)) return undefined
    if (isGone(error)) return []
    throw error
  }
}

/** Returns undefined for deleted and excluded entries. Synchronous for files: a promise for each would double the scan time. */
function scanEntry(
  path: string,
  { name, before, scan }: { readonly name: string; readonly before: TreeNode | undefined; readonly scan: Scan },
): TreeNode | undefined | Promise<TreeNode> {
  let stats: Stats | undefined
  try {
    stats = lstatSync(toNodePath(path), { throwIfNoEntry: false })
  } catch (error) {
    if (isDenied(error)) return unreadableEntry(path, scan)
    throw error
  }
  if (stats === undefined) return undefined
  const isDirectory = stats.isDirectory()
  const isKnown = before !== undefined && before.kind !== "omitted" && (before.kind === "directory") === isDirectory
  if (!isKnown && (isExcluded(name, isDirectory ? "directory" : "other") || scan.skipped.has(path))) return undefined
  if (!isDirectory) return scanFile({ path, stats, previous: before }, scan)
  return scanDirectory({ path, stats, previous: before?.kind === "directory" ? before : undefined }, scan)
}

function scanFile({ path, stats, previous }: ScannedEntry<TreeNode>, scan: Scan): FileNode | OmittedNode | undefined {
  scan.files += 1
  if (scan.files > scan.maxFiles) throw tooManyFiles(scan)
  const kind = stats.isFile() ? "file" : stats.isSymbolicLink() ? "link" : undefined
  if (kind === undefined) return { kind: "omitted", reason: "special" }
  const known = previous?.kind === kind ? previous : undefined
  if (known !== undefined && known.settled && known.size === stats.size && isUnchanged(known, stats)) return known
  // Computing the limit is slow, and nearly all files are small.
  if (stats.size > SMALL_FILE_BYTES && stats.size > scan.sizeLimit(path.slice(scan.prefix)))
    return { kind: "omitted", reason: "too-large" }
  try {
    const node = readEntry(path, stats, scan.writer)
    if (node?.kind === "file" || node?.kind === "link") scan.read += 1
    return node
  } catch (error) {
    if (isDenied(error) || errorCode(error) === "EIO") return unreadableEntry(path, scan)
    throw error
  }
}

/** Stores one file or link. Returns undefined when it was deleted meanwhile. */
export function readEntry(path: string, stats: Stats, writer: ObjectWriter): FileNode | OmittedNode | undefined {
  const kind = stats.isFile() ? "file" : stats.isSymbolicLink() ? "link" : undefined
  if (kind === undefined) return { kind: "omitted", reason: "special" }
  const statData = statDataOf(stats)
  try {
    const content = kind === "link" ? readlinkSync(toNodePath(path), "buffer") : readRegularFile(path)
    if (content === undefined) return { kind: "omitted", reason: "special" }
    return { kind, ...statData, size: stats.size, id: writer.blob(content) }
  } catch (error) {
    if (isGone(error)) return undefined
    throw error
  }
}

const SMALL_FILE_BYTES = 4096

function unreadableEntry(path: string, scan: Scan): OmittedNode {
  scan.unreadable.push(decodeByteString(path.slice(scan.prefix)))
  return { kind: "omitted", reason: "unreadable" }
}

/** The file may have become a pipe or a link since the `lstat`: does not follow links and does not block on a pipe. */
function readRegularFile(path: string): Buffer | undefined {
  const descriptor = openSync(toNodePath(path), constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW)
  try {
    return fstatSync(descriptor).isFile() ? readFileSync(descriptor) : undefined
  } finally {
    closeSync(descriptor)
  }
}

async function yieldToEventLoop(scan: Scan): Promise<void> {
  if (scan.writer.isCongested()) await scan.writer.drain()
  await scan.slices.next()
}

/** Call it before reading the content. Uses the system clock, because file timestamps come from it. */
export function statDataOf(stats: Stats): StatData {
  const { mode, mtimeMs, ctimeMs, ino } = stats
  return { mode, mtimeMs, ctimeMs, ino, settled: ctimeMs < Date.now() - TIMESTAMP_RESOLUTION_MS }
}

function isUnchanged(known: StatData, stats: Stats): boolean {
  return (
    known.ctimeMs === stats.ctimeMs &&
    known.mtimeMs === stats.mtimeMs &&
    known.mode === stats.mode &&
    known.ino === stats.ino
  )
}

function isSameObject(child: DirectoryNode | FileNode, before: TreeNode | undefined): boolean {
  return before?.kind === child.kind && before.id === child.id && before.mode === child.mode
}

function isDenied(error: unknown): boolean {
  return errorCode(error) === "EACCES" || errorCode(error) === "EPERM"
}

function isGone(error: unknown): boolean {
  return (
    errorCode(error) === "ENOENT" ||
    errorCode(error) === "ENOTDIR" ||
    errorCode(error) === "EINVAL" ||
    errorCode(error) === "ELOOP"
  )
}
