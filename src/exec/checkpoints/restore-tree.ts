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
import { byteText, shownText, systemPath } from "./byte-text.ts"
import type { TreeEntry } from "./git-objects.ts"
import type { ObjectReader } from "./object-reader.ts"
import type { DirectoryNode, TreeNode } from "./tree-node.ts"

export interface RestoreOptions {
  readonly root: string
  /** The workspace as a snapshot has just saved it: what is not in there is never overwritten. */
  readonly current: DirectoryNode
  readonly target: string
  readonly reader: ObjectReader
  /** Only this path below the root, as byte text. */
  readonly only?: readonly string[]
  readonly signal: AbortSignal
}

/** Paths below the root, for people. */
export interface RestoreReport {
  readonly written: readonly string[]
  readonly removed: readonly string[]
  /** What stayed as it is, and why. */
  readonly kept: readonly { readonly path: string; readonly why: string }[]
}

/**
 * Makes a workspace what the target tree says: contents, links, permission bits, empty directories. Touches only what differs.
 * Goes on after a failure, so that as much as possible comes back; each failure is reported.
 */
export async function restoreTree(options: RestoreOptions): Promise<RestoreReport> {
  const work: Work = { ...options, written: [], removed: [], kept: [] }
  await restoreDirectory(byteText(options.root), { current: options.current, target: options.target }, work)
  return { written: work.written, removed: work.removed, kept: work.kept }
}

interface Work extends RestoreOptions {
  readonly written: string[]
  readonly removed: string[]
  readonly kept: { path: string; why: string }[]
}

interface Pair {
  readonly current: DirectoryNode | undefined
  readonly target: string
}

async function restoreDirectory(path: string, { current, target }: Pair, work: Work, depth = 0): Promise<void> {
  if (current?.id === target) return
  work.signal.throwIfAborted()
  const wanted = await work.reader.tree(target)
  const only = work.only?.[depth]
  const present = current?.children ?? new Map<string, TreeNode>()
  const isMeant = ([name]: readonly [string, unknown]): boolean => only === undefined || only === name
  const unlocked = unlock(path)
  try {
    for (const [name, node] of [...present].filter(isMeant)) {
      if (!wanted.has(name)) attempt(`${path}/${name}`, work, (below) => remove(below, node, work))
    }
    for (const [name, entry] of [...wanted].filter(isMeant)) {
      await restoreEntry(`${path}/${name}`, { node: present.get(name), entry, depth: depth + 1 }, work)
    }
  } finally {
    if (unlocked !== undefined) chmodSync(systemPath(path), unlocked)
  }
}

interface EntryPair {
  readonly node: TreeNode | undefined
  readonly entry: TreeEntry
  readonly depth: number
}

async function restoreEntry(path: string, pair: EntryPair, work: Work): Promise<void> {
  switch (pair.entry.kind) {
    case "omitted":
      return
    case "directory":
      await restoreSubdirectory(path, pair, work)
      return
    case "file":
    case "link":
      await restoreFile(path, pair, work)
      return
    default:
      assertNever(pair.entry.kind)
  }
}

async function restoreSubdirectory(path: string, { node, entry, depth }: EntryPair, work: Work): Promise<void> {
  const current = node?.kind === "directory" ? node : undefined
  const isThere = attempt(path, work, () => {
    if (current !== undefined) return
    clear(path, node, work)
    mkdirSync(systemPath(path), { mode: 0o700 })
    takeOwner(path)
    work.written.push(`${relative(path, work)}/`)
  })
  if (!isThere) return
  await restoreDirectory(path, { current, target: entry.id }, work, depth)
  // A directory on the way to the one file that is meant stays as it is.
  if (current !== undefined && depth < (work.only?.length ?? 0)) return
  attempt(path, work, () => {
    setMode(path, current?.mode, { entry, work })
  })
}

async function restoreFile(path: string, { node, entry }: EntryPair, work: Work): Promise<void> {
  if ((node?.kind === "file" || node?.kind === "link") && node.kind === entry.kind && node.id === entry.id) {
    attempt(path, work, () => {
      if (entry.kind === "file") setMode(path, node.mode, { entry, work })
    })
    return
  }
  const content = await readOrReport(path, entry, work)
  if (content === undefined) return
  attempt(path, work, () => {
    if (node?.kind !== "file" && node?.kind !== "link") clear(path, node, work)
    place(path, entry, content)
    work.written.push(relative(path, work))
  })
}

async function readOrReport(path: string, entry: TreeEntry, work: Work): Promise<Buffer | undefined> {
  try {
    return await work.reader.content(entry.id)
  } catch (error) {
    work.signal.throwIfAborted()
    keep(path, work, explainSystemError(error))
    return undefined
  }
}

/** A new file takes the name in one step: links to the old one elsewhere keep their content. */
function place(path: string, entry: TreeEntry, content: Buffer): void {
  const temporary = `${path.slice(0, path.lastIndexOf("/"))}/.hermes-restore-${randomHex(6)}`
  try {
    if (entry.kind === "link") symlinkSync(content, systemPath(temporary))
    else {
      writeFileSync(systemPath(temporary), content, { flag: "wx", mode: 0o600 })
    }
    takeOwner(temporary, path)
    if (entry.kind === "file") chmodSync(systemPath(temporary), entry.mode & PERMISSIONS)
    renameSync(systemPath(temporary), systemPath(path))
  } catch (cause) {
    rmSync(systemPath(temporary), { force: true })
    throw cause
  }
}

const PERMISSIONS = 0o7777

function setMode(
  path: string,
  current: number | undefined,
  { entry, work }: { readonly entry: TreeEntry; readonly work: Work },
): void {
  if (current === entry.mode) return
  chmodSync(systemPath(path), entry.mode & PERMISSIONS)
  if (current !== undefined) work.written.push(relative(path, work))
}

/** Takes away what stands where something of another kind belongs; what could not be saved stays. */
function clear(path: string, node: TreeNode | undefined, work: Work): void {
  const found = lstatSync(systemPath(path), { throwIfNoEntry: false })
  if (found === undefined) return
  if (node === undefined || (node.kind === "omitted" && node.why !== "special"))
    throw new KeptError("what is there now could not be saved first")
  if (node.kind === "directory") removeDirectory(path, node, work)
  else unlinkSync(systemPath(path))
}

function remove(path: string, node: TreeNode, work: Work): void {
  switch (node.kind) {
    case "omitted":
      return
    case "directory":
      removeDirectory(path, node, work)
      return
    case "file":
    case "link":
      unlinkSync(systemPath(path))
      work.removed.push(relative(path, work))
      return
    default:
      assertNever(node)
  }
}

/** Only what was saved goes; a directory that still holds something else stays. */
function removeDirectory(path: string, node: DirectoryNode, work: Work): void {
  const unlocked = unlock(path)
  for (const [name, child] of node.children) attempt(`${path}/${name}`, work, (below) => remove(below, child, work))
  try {
    rmdirSync(systemPath(path))
    work.removed.push(`${relative(path, work)}/`)
  } catch (cause) {
    if (unlocked !== undefined) chmodSync(systemPath(path), unlocked)
    throw new KeptError("it holds files that no checkpoint covers", { cause })
  }
}

/** Opens a directory that its owner may not write; gives the mode to put back. */
function unlock(path: string): number | undefined {
  const found = lstatSync(systemPath(path), { throwIfNoEntry: false })
  if (found === undefined || (found.mode & 0o300) === 0o300) return undefined
  chmodSync(systemPath(path), (found.mode & PERMISSIONS) | 0o700)
  return found.mode & PERMISSIONS
}

/** Run as root, a restore does not take files away from whoever owns the place. */
function takeOwner(path: string, replaced = path): void {
  if (process.getuid?.() !== 0) return
  const parent = replaced.slice(0, replaced.lastIndexOf("/"))
  const before = replaced === path ? undefined : lstatSync(systemPath(replaced), { throwIfNoEntry: false })
  const { uid, gid } = before ?? lstatSync(systemPath(parent))
  if (uid !== 0 || gid !== 0) lchownSync(systemPath(path), uid, gid)
}

/** Our own reason, in words for people. */
class KeptError extends Error {
  override readonly name = "KeptError"
}

function attempt(path: string, work: Work, step: (path: string) => void): boolean {
  try {
    step(path)
    return true
  } catch (error) {
    keep(path, work, explainSystemError(error))
    return false
  }
}

function keep(path: string, work: Work, why: string): void {
  work.kept.push({ path: relative(path, work), why })
}

function relative(path: string, work: Work): string {
  return shownText(path.slice(byteText(work.root).length + 1))
}
