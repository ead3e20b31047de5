import { closeSync, constants, fstatSync, lstatSync, openSync, readdirSync, readFileSync, readlinkSync } from "node:fs"
import type { Dirent, Stats } from "node:fs"
import { setImmediate as nextTick } from "node:timers/promises"

import { errorCode } from "../../base/system-error.ts"
import { byteText, systemPath } from "./byte-text.ts"
import { isExcluded } from "./excluded-names.ts"
import { encodeTree } from "./git-objects.ts"
import type { ObjectWriter } from "./object-writer.ts"
import type { DirectoryNode, FileNode, OmittedNode, Stamp, TreeNode } from "./tree-node.ts"

export interface ScanOptions {
  readonly root: string
  /** What the last scan found; what the file system describes as before is taken from there. */
  readonly previous: DirectoryNode | undefined
  readonly writer: ObjectWriter
  readonly maxFiles: number
  /** The largest file to keep, in bytes; asked for each large one with its path below the root. */
  readonly sizeLimit: (path: string) => number
  /** Absolute paths that are not looked into, for example our own home. */
  readonly skipped: ReadonlySet<string>
  readonly signal: AbortSignal
}

export interface ScanResult {
  readonly root: DirectoryNode
  readonly files: number
  /** How many contents were read. */
  readonly read: number
}

/** The workspace has more files than a checkpoint may hold. */
export class TooManyFilesError extends Error {
  override readonly name = "TooManyFilesError"
}

/** Two changes this close together may bear the same time, on coarse file systems too. */
const SAME_TIME_MS = 2000
/** How long the event loop may be kept waiting. */
const SLICE_MS = 8

/**
 * Brings the picture of a workspace up to date and stores what is new in it. The file system is asked about every file, but only
 * directories whose time changed are listed and only files that changed are read. It works in slices, so that nobody else waits.
 */
export async function scanWorkspace(options: ScanOptions): Promise<ScanResult> {
  const scan: Scan = {
    ...options,
    prefix: byteText(options.root).length + 1,
    files: 0,
    read: 0,
    slice: performance.now(),
  }
  const path = byteText(options.root)
  const stats = lstatSync(systemPath(path))
  if (!stats.isDirectory()) throw new Error(`${options.root} is not a directory`)
  if (options.previous === undefined) await countFiles(path, scan)
  const root = await scanDirectory({ path, stats, previous: options.previous }, scan)
  if (root.kind === "omitted") throw new Error(`${options.root} cannot be read`)
  return { root, files: scan.files, read: scan.read }
}

/** Before a first scan: half of a workspace that is too large must not be stored before that is noticed. */
async function countFiles(root: string, scan: Scan): Promise<void> {
  let files = 0
  const waiting = [root]
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    for (const entry of entriesIn(path)) {
      const isDirectory = entry.isDirectory()
      const name = `${path}/${entry.name}`
      if (isExcluded(entry.name, isDirectory ? "directory" : "other") || scan.skipped.has(name)) continue
      if (isDirectory) waiting.push(name)
      else files += 1
    }
    if (files > scan.maxFiles) throw new TooManyFilesError(`it has more than ${scan.maxFiles} files`)
    if (performance.now() - scan.slice > SLICE_MS) await rest(scan)
  }
}

function entriesIn(path: string): readonly Dirent[] {
  try {
    return readdirSync(systemPath(path), { withFileTypes: true, encoding: "latin1" })
  } catch {
    // It cannot be read, or has gone: the scan itself says what that means.
    return []
  }
}

interface Scan extends ScanOptions {
  readonly prefix: number
  files: number
  read: number
  slice: number
}

interface Place<Node extends TreeNode> {
  readonly path: string
  readonly stats: Stats
  readonly previous: Node | undefined
}

async function scanDirectory(place: Place<DirectoryNode>, scan: Scan): Promise<DirectoryNode | OmittedNode> {
  const { path, stats, previous } = place
  const stamp = stampOf(stats)
  const names = namesIn(place)
  if (names === undefined) return { kind: "omitted", why: "unreadable" }
  const children = new Map<string, TreeNode>()
  let unchanged = previous !== undefined
  for (const name of names) {
    const before = previous?.children.get(name)
    const found = scanEntry(`${path}/${name}`, { name, before, scan })
    const child = found instanceof Promise ? await found : found
    if (child === undefined) continue
    if (child.kind === "omitted" ? before?.kind !== "omitted" : !sameObject(child, before)) unchanged = false
    children.set(name, child)
    if (performance.now() - scan.slice > SLICE_MS || scan.writer.isCongested()) await rest(scan)
  }
  if (previous !== undefined && unchanged && previous.children.size === children.size)
    return { kind: "directory", ...stamp, children, id: previous.id }
  return { kind: "directory", ...stamp, children, id: scan.writer.tree(encodeTree(children)) }
}

/** Creating, removing or renaming something in a directory changes the directory's own time. Undefined: we may not look. */
function namesIn({ path, stats, previous }: Place<DirectoryNode>): Iterable<string> | undefined {
  if (previous?.settled === true && isSame(previous, stats)) return previous.children.keys()
  try {
    return readdirSync(systemPath(path), "latin1")
  } catch (error) {
    if (isDenied(error)) return undefined
    if (isGone(error)) return []
    throw error
  }
}

/** Undefined for what is gone or never kept. Not asynchronous for files: ten thousand promises would cost as much as the scan. */
function scanEntry(
  path: string,
  { name, before, scan }: { readonly name: string; readonly before: TreeNode | undefined; readonly scan: Scan },
): TreeNode | undefined | Promise<TreeNode> {
  let stats: Stats | undefined
  try {
    stats = lstatSync(systemPath(path), { throwIfNoEntry: false })
  } catch (error) {
    if (isDenied(error)) return { kind: "omitted", why: "unreadable" }
    throw error
  }
  if (stats === undefined) return undefined
  const isDirectory = stats.isDirectory()
  const isKnown = before !== undefined && before.kind !== "omitted" && (before.kind === "directory") === isDirectory
  if (!isKnown && (isExcluded(name, isDirectory ? "directory" : "other") || scan.skipped.has(path))) return undefined
  if (!isDirectory) return scanFile({ path, stats, previous: before }, scan)
  return scanDirectory({ path, stats, previous: before?.kind === "directory" ? before : undefined }, scan)
}

function scanFile({ path, stats, previous }: Place<TreeNode>, scan: Scan): FileNode | OmittedNode | undefined {
  scan.files += 1
  if (scan.files > scan.maxFiles) throw new TooManyFilesError(`it has more than ${scan.maxFiles} files`)
  const kind = stats.isFile() ? "file" : stats.isSymbolicLink() ? "link" : undefined
  if (kind === undefined) return { kind: "omitted", why: "special" }
  const known = previous?.kind === kind ? previous : undefined
  if (known !== undefined && known.settled && known.size === stats.size && isSame(known, stats)) return known
  // Asking for the limit is slow, and nearly all files are small.
  if (stats.size > SMALL_FILE && stats.size > scan.sizeLimit(path.slice(scan.prefix)))
    return { kind: "omitted", why: "too-large" }
  const stamp = stampOf(stats)
  try {
    const content = kind === "link" ? readlinkSync(systemPath(path), "buffer") : readRegularFile(path)
    if (content === undefined) return { kind: "omitted", why: "special" }
    scan.read += 1
    return { kind, ...stamp, size: stats.size, id: scan.writer.blob(content) }
  } catch (error) {
    if (isGone(error)) return undefined
    if (isDenied(error) || errorCode(error) === "EIO") return { kind: "omitted", why: "unreadable" }
    throw error
  }
}

const SMALL_FILE = 4096

/** What was a file a moment ago may be a pipe or a link now: neither is followed, and nobody waits for a writer. */
function readRegularFile(path: string): Buffer | undefined {
  const descriptor = openSync(systemPath(path), constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW)
  try {
    return fstatSync(descriptor).isFile() ? readFileSync(descriptor) : undefined
  } finally {
    closeSync(descriptor)
  }
}

async function rest(scan: Scan): Promise<void> {
  if (scan.writer.isCongested()) await scan.writer.drain()
  await nextTick()
  scan.signal.throwIfAborted()
  scan.slice = performance.now()
}

/** Made before the content is read, by the clock that file times come from. */
function stampOf(stats: Stats): Stamp {
  const { mode, mtimeMs, ctimeMs, ino } = stats
  return { mode, mtimeMs, ctimeMs, ino, settled: ctimeMs < Date.now() - SAME_TIME_MS }
}

function isSame(known: Stamp, stats: Stats): boolean {
  return (
    known.ctimeMs === stats.ctimeMs &&
    known.mtimeMs === stats.mtimeMs &&
    known.mode === stats.mode &&
    known.ino === stats.ino
  )
}

function sameObject(child: DirectoryNode | FileNode, before: TreeNode | undefined): boolean {
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
