import {
  chmodSync,
  lchownSync,
  lstatSync,
  mkdirSync,
  renameSync,
  rmdirSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from "node:fs"

import { assertNever } from "../../base/assert-never.ts"
import { randomHex } from "../../base/random-and-hash.ts"
import { explainSystemError } from "../../base/system-error.ts"
import { toByteString, decodeByteString, toNodePath } from "./byte-string.ts"
import type { TreeEntry } from "./git-objects.ts"
import type { ObjectReader } from "./object-reader.ts"
import { createTimeSlices } from "./time-slices.ts"
import type { TimeSlices } from "./time-slices.ts"
import type { DirectoryNode, OmissionReason, TreeNode } from "./tree-node.ts"

export interface RestoreOptions {
  readonly root: string
  /** The workspace as the undo snapshot has just saved it. The restore never overwrites anything that this does not contain. */
  readonly current: DirectoryNode
  readonly target: string
  /** When the snapshot was taken, in epoch seconds. */
  readonly takenAt: number
  readonly reader: ObjectReader
  /** Restores only this path below the root, given as segments in byte strings. */
  readonly onlyPath?: readonly string[]
  readonly signal: AbortSignal
}

/** Paths are relative to the root and decoded for display. */
export interface RestoreReport {
  readonly written: readonly string[]
  readonly removed: readonly string[]
  readonly notRestored: readonly UnrestoredPath[]
  /** Files that snapshots do not cover and that differ from the restored state: created or changed since. They stay as they are. */
  readonly kept: readonly UnrestoredPath[]
}

export interface UnrestoredPath {
  readonly path: string
  readonly why: string
}

/**
 * Brings a workspace to the state of the target tree: contents, links, permission bits, empty directories. Touches only what
 * differs. Continues after a failure, to restore as much as possible, and reports each failure. Works in short slices, because the
 * event loop must not wait for thousands of files.
 */
export async function restoreTree(options: RestoreOptions): Promise<RestoreReport> {
  const slices = createTimeSlices(options.signal)
  const run: RestoreRun = { ...options, slices, written: [], removed: [], notRestored: [], kept: [] }
  await restoreDirectory(toByteString(options.root), { current: options.current, target: options.target }, run)
  return { written: run.written, removed: run.removed, notRestored: run.notRestored, kept: run.kept }
}

interface RestoreRun extends RestoreOptions {
  readonly slices: TimeSlices
  readonly written: string[]
  readonly removed: string[]
  readonly notRestored: UnrestoredPath[]
  readonly kept: UnrestoredPath[]
}

interface DirectoryPair {
  readonly current: DirectoryNode | undefined
  readonly target: string
}

async function restoreDirectory(
  path: string,
  { current, target }: DirectoryPair,
  run: RestoreRun,
  depth = 0,
): Promise<void> {
  if (current?.id === target) {
    await reportOmittedBelow(path, current, { run, depth })
    return
  }
  run.signal.throwIfAborted()
  const targetEntries = await run.reader.tree(target)
  const onlyName = run.onlyPath?.[depth]
  const present = current?.children ?? new Map<string, TreeNode>()
  const isSelected = ([name]: readonly [string, unknown]): boolean => onlyName === undefined || onlyName === name
  const modeBefore = makeWritable(path)
  try {
    for (const [name, node] of [...present].filter(isSelected)) {
      if (!targetEntries.has(name)) await attempt(`${path}/${name}`, run, (below) => remove(below, node, run))
    }
    for (const [name, entry] of [...targetEntries].filter(isSelected)) {
      await restoreEntry(`${path}/${name}`, { node: present.get(name), entry, depth: depth + 1 }, run)
    }
  } finally {
    if (modeBefore !== undefined) chmodSync(toNodePath(path), modeBefore)
  }
}

interface EntryPair {
  readonly node: TreeNode | undefined
  readonly entry: TreeEntry
  readonly depth: number
}

async function restoreEntry(path: string, pair: EntryPair, run: RestoreRun): Promise<void> {
  switch (pair.entry.kind) {
    case "omitted":
      await attempt(path, run, () => reportOmitted(path, run))
      return
    case "directory":
      await restoreSubdirectory(path, pair, run)
      return
    case "file":
    case "link":
      await restoreFile(path, pair, run)
      return
    default:
      assertNever(pair.entry.kind)
  }
}

/** The snapshot has only the name of this entry, so its earlier content is lost if it was changed or deleted since. */
function reportOmitted(path: string, run: RestoreRun): void {
  const found = lstatSync(toNodePath(path), { throwIfNoEntry: false })
  if (found === undefined) throw new RefusedError("the snapshot does not contain it: it was too large or unreadable")
  // The time of a snapshot is stored in whole seconds.
  if (found.ctimeMs < (run.takenAt + 1) * 1000) return
  run.kept.push({ path: relative(path, run), why: "changed since; the snapshot does not contain its earlier content" })
}

async function reportOmittedBelow(
  path: string,
  { children }: DirectoryNode,
  { run, depth }: { readonly run: RestoreRun; readonly depth: number },
): Promise<void> {
  const onlyName = run.onlyPath?.[depth]
  for (const [name, node] of children) {
    if (onlyName !== undefined && onlyName !== name) continue
    const below = `${path}/${name}`
    if (node.kind === "directory") await reportOmittedBelow(below, node, { run, depth: depth + 1 })
    else if (node.kind === "omitted") await attempt(below, run, () => reportOmitted(below, run))
  }
}

async function restoreSubdirectory(path: string, { node, entry, depth }: EntryPair, run: RestoreRun): Promise<void> {
  const current = node?.kind === "directory" ? node : undefined
  const exists = await attempt(path, run, async () => {
    if (current !== undefined) return
    await removeObstacle(path, node, run)
    mkdirSync(toNodePath(path), { mode: 0o700 })
    inheritOwner(path)
    run.written.push(`${relative(path, run)}/`)
  })
  if (!exists) return
  await restoreDirectory(path, { current, target: entry.id }, run, depth)
  // Restoring a single path leaves the mode of existing parent directories alone.
  if (current !== undefined && depth < (run.onlyPath?.length ?? 0)) return
  await attempt(path, run, () => {
    setMode(path, current?.mode, { entry, run })
  })
}

async function restoreFile(path: string, { node, entry }: EntryPair, run: RestoreRun): Promise<void> {
  if ((node?.kind === "file" || node?.kind === "link") && node.kind === entry.kind && node.id === entry.id) {
    await attempt(path, run, () => {
      if (entry.kind === "file") setMode(path, node.mode, { entry, run })
    })
    return
  }
  const content = await readOrReport(path, entry, run)
  if (content === undefined) return
  await attempt(path, run, async () => {
    if (node?.kind !== "file" && node?.kind !== "link") await removeObstacle(path, node, run)
    writeEntry(path, entry, content)
    run.written.push(relative(path, run))
  })
}

async function readOrReport(path: string, entry: TreeEntry, run: RestoreRun): Promise<Buffer | undefined> {
  try {
    return await run.reader.content(entry.id)
  } catch (error) {
    run.signal.throwIfAborted()
    reportNotRestored(path, run, explainSystemError(error))
    return undefined
  }
}

/** Renames a temporary file into position, which is atomic and leaves other hard links to the old file untouched. */
function writeEntry(path: string, entry: TreeEntry, content: Buffer): void {
  const temporary = `${path.slice(0, path.lastIndexOf("/"))}/.hermes-restore-${randomHex(6)}`
  try {
    if (entry.kind === "link") symlinkSync(content, toNodePath(temporary))
    else writeFileSync(toNodePath(temporary), content, { flag: "wx", mode: 0o600 })
    inheritOwner(temporary, path)
    if (entry.kind === "file") chmodSync(toNodePath(temporary), entry.mode & PERMISSIONS)
    renameSync(toNodePath(temporary), toNodePath(path))
  } catch (cause) {
    rmSync(toNodePath(temporary), { force: true })
    throw cause
  }
}

const PERMISSIONS = 0o7777

function setMode(
  path: string,
  current: number | undefined,
  { entry, run }: { readonly entry: TreeEntry; readonly run: RestoreRun },
): void {
  if (current === entry.mode) return
  chmodSync(toNodePath(path), entry.mode & PERMISSIONS)
  if (current !== undefined) run.written.push(relative(path, run))
}

/** Removes an entry of another kind to make room. Throws for an entry that the undo snapshot could not save. */
async function removeObstacle(path: string, node: TreeNode | undefined, run: RestoreRun): Promise<void> {
  const found = lstatSync(toNodePath(path), { throwIfNoEntry: false })
  if (found === undefined) return
  if (node === undefined || (node.kind === "omitted" && node.reason !== "special"))
    throw new RefusedError("the current file could not be saved first")
  if (node.kind === "directory") await removeDirectory(path, node, run)
  else unlinkSync(toNodePath(path))
}

async function remove(path: string, node: TreeNode, run: RestoreRun): Promise<void> {
  switch (node.kind) {
    case "omitted":
      run.kept.push({ path: relative(path, run), why: `created since; ${OMISSION_TEXT[node.reason]}` })
      return
    case "directory":
      await removeDirectory(path, node, run)
      return
    case "file":
    case "link":
      unlinkSync(toNodePath(path))
      run.removed.push(relative(path, run))
      return
    default:
      assertNever(node)
  }
}

const OMISSION_TEXT: Readonly<Record<OmissionReason, string>> = {
  "too-large": "too large for a snapshot",
  unreadable: "unreadable",
  special: "not a regular file",
}

/** Removes only saved files; a directory that holds anything else stays. */
async function removeDirectory(path: string, node: DirectoryNode, run: RestoreRun): Promise<void> {
  const modeBefore = makeWritable(path)
  for (const [name, child] of node.children) await attempt(`${path}/${name}`, run, (below) => remove(below, child, run))
  try {
    rmdirSync(toNodePath(path))
    run.removed.push(`${relative(path, run)}/`)
  } catch (cause) {
    if (modeBefore !== undefined) chmodSync(toNodePath(path), modeBefore)
    throw new RefusedError("the directory contains files that checkpoints do not cover", { cause })
  }
}

/** Makes a read-only directory writable and returns its previous mode; undefined when it was writable. */
function makeWritable(path: string): number | undefined {
  const found = lstatSync(toNodePath(path), { throwIfNoEntry: false })
  if (found === undefined || (found.mode & 0o300) === 0o300) return undefined
  chmodSync(toNodePath(path), (found.mode & PERMISSIONS) | 0o700)
  return found.mode & PERMISSIONS
}

/** When Hermes runs as root, restored files get the owner of the file they replace or of the parent directory. */
function inheritOwner(path: string, replaced = path): void {
  if (process.getuid?.() !== 0) return
  const parent = replaced.slice(0, replaced.lastIndexOf("/"))
  const before = replaced === path ? undefined : lstatSync(toNodePath(replaced), { throwIfNoEntry: false })
  const { uid, gid } = before ?? lstatSync(toNodePath(parent))
  if (uid !== 0 || gid !== 0) lchownSync(toNodePath(path), uid, gid)
}

/** The restore declined to touch an entry; the message is shown to the user. */
class RefusedError extends Error {
  override readonly name = "RefusedError"
}

async function attempt(path: string, run: RestoreRun, step: (path: string) => void | Promise<void>): Promise<boolean> {
  if (run.slices.isOver()) await run.slices.next()
  try {
    await step(path)
    return true
  } catch (error) {
    run.signal.throwIfAborted()
    reportNotRestored(path, run, explainSystemError(error))
    return false
  }
}

function reportNotRestored(path: string, run: RestoreRun, why: string): void {
  run.notRestored.push({ path: relative(path, run), why })
}

function relative(path: string, run: RestoreRun): string {
  return decodeByteString(path.slice(toByteString(run.root).length + 1))
}
