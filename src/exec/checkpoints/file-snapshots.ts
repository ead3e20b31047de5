import { lstatSync } from "node:fs"
import { basename, dirname, join, relative } from "node:path"

import { epochSeconds } from "../../base/clock.ts"
import type { Clock } from "../../base/clock.ts"
import { realPath } from "../../base/real-path.ts"
import { decodeByteString, toByteString, toNodePath } from "./byte-string.ts"
import { isExcluded } from "./excluded-names.ts"
import { encodeTree } from "./git-objects.ts"
import type { ObjectReader } from "./object-reader.ts"
import { createObjectWriter } from "./object-writer.ts"
import type { ObjectWriter } from "./object-writer.ts"
import { restoreTree } from "./restore-tree.ts"
import type { RestoreReport } from "./restore-tree.ts"
import { commitText } from "./snapshot-list.ts"
import type { SnapshotReason } from "./snapshot-list.ts"
import {
  ensureStore,
  fileProjectId,
  loadProject,
  moveShallowBoundary,
  newProject,
  removeProject,
  replaceSnapshot,
  saveProject,
} from "./store-files.ts"
import type { StorePaths } from "./store-files.ts"
import type { DirectoryNode, FileNode, OmittedNode, StatData, TreeNode } from "./tree-node.ts"
import { readEntry, statDataOf } from "./workspace-scan.ts"

/**
 * A snapshot of single files that a tool is about to write, for directories of which Hermes takes no complete snapshot. Keys are
 * paths below the root as byte strings.
 */
export interface FileSnapshot {
  readonly hash: string
  /** Undefined for a file that did not exist. */
  readonly files: ReadonlyMap<string, FileNode | OmittedNode | undefined>
  /** The directories that contain them; undefined for those that did not exist. */
  readonly directories: ReadonlyMap<string, StatData | undefined>
}

export interface FileSnapshotRequest {
  /** Absolute paths. */
  readonly files: readonly string[]
  readonly why: SnapshotReason
  /** An earlier snapshot of the same turn. The new one replaces it and keeps the files that it contains. */
  readonly extend?: FileSnapshot | undefined
  readonly maxFileBytes: number
  readonly signal: AbortSignal
}

/** Removes a snapshot from the list, because a complete one of the same turn has been stored. */
export async function dropFileSnapshot(
  root: string,
  { hash }: Pick<FileSnapshot, "hash">,
  { paths, signal }: { readonly paths: StorePaths; readonly signal: AbortSignal },
): Promise<void> {
  const project = await loadProject(paths, fileProjectId(root), signal)
  const first = project?.snapshots[0]
  if (project === undefined || first === undefined || project.snapshots.at(-1)?.hash !== hash) return
  const snapshots = project.snapshots.slice(0, -1)
  if (snapshots.length > 0) {
    await saveProject(paths, { ...project, snapshots }, signal)
    return
  }
  await removeProject(paths, project.id, signal)
  moveShallowBoundary(paths, { from: [first.hash], to: [] })
}

export interface FileSnapshotContext {
  readonly paths: StorePaths
  readonly maxSnapshots: number
  readonly clock: Clock
}

/** Returns undefined when snapshots cover none of the files. */
export async function takeFileSnapshot(
  root: string,
  request: FileSnapshotRequest,
  context: FileSnapshotContext,
): Promise<(FileSnapshot & { readonly node: DirectoryNode }) | undefined> {
  const { extend, signal } = request
  const { paths } = context
  await ensureStore(paths, signal)
  const writer = createObjectWriter(paths, signal)
  try {
    const { files, directories, node } = scanFiles(root, request, writer)
    if (files.size === (extend?.files.size ?? 0)) return undefined
    const id = fileProjectId(root)
    const now = epochSeconds(context.clock)
    const project = (await loadProject(paths, id, signal)) ?? newProject(id, root, now)
    const replaces = extend !== undefined && project.snapshots.at(-1)?.hash === extend.hash
    const parent = project.snapshots.at(replaces ? -2 : -1)?.hash
    const covered = [...files.keys()].map((name) => decodeByteString(name)).toSorted()
    const text = commitText({ tree: node.id, parent, project: id, ...request.why, files: covered, seconds: now })
    const hash = writer.commit(text)
    await writer.finish()
    const { message } = request.why
    const added = { hash, tree: node.id, precedes: message === undefined ? [] : [message] }
    const changed = replaceSnapshot(
      paths,
      { ...project, lastTouch: now },
      { added, replaces, max: context.maxSnapshots },
    )
    await saveProject(paths, changed, signal)
    return { hash, files, directories, node }
  } finally {
    writer.abandon()
  }
}

/** Stores the current content of the files. Those that `extend` contains keep the content that they had then. */
export function scanFiles(
  root: string,
  request: Pick<FileSnapshotRequest, "files" | "extend" | "maxFileBytes">,
  writer: ObjectWriter,
): Omit<FileSnapshot, "hash"> & { readonly node: DirectoryNode } {
  const files = new Map(request.extend?.files)
  const directories = new Map(request.extend?.directories)
  for (const name of request.files.flatMap((file) => coveredNames(root, file))) {
    if (!files.has(name)) files.set(name, readFile(root, name, { writer, maxBytes: request.maxFileBytes }))
    for (const directory of parentsOf(name))
      if (!directories.has(directory)) directories.set(directory, directoryStat(root, directory))
  }
  return { files, directories, node: buildTree("", { files, directories, writer }) }
}

/**
 * Replaces what a scan found with what was saved before. So the tree shows the state before the files were written, whether the scan
 * came to them before, during or after that.
 */
export function withSavedFiles(
  root: DirectoryNode,
  saved: Pick<FileSnapshot, "files" | "directories">,
  writer: ObjectWriter,
): DirectoryNode {
  return replaceIn("", root, { ...saved, writer })
}

function replaceIn(directory: string, found: DirectoryNode | undefined, parts: TreeParts): DirectoryNode {
  const children = new Map(found?.children)
  for (const [name, node] of parts.files) {
    // Of directories, pipes and devices, nothing was saved.
    if (parentOf(name) !== directory || (node?.kind === "omitted" && node.reason === "special")) continue
    if (node === undefined) children.delete(lastSegment(name))
    else children.set(lastSegment(name), node)
  }
  for (const [name, stat] of parts.directories) {
    if (name === "" || parentOf(name) !== directory) continue
    const child = children.get(lastSegment(name))
    if (stat === undefined) children.delete(lastSegment(name))
    else if (child?.kind !== "omitted")
      children.set(lastSegment(name), replaceIn(name, child?.kind === "directory" ? child : undefined, parts))
  }
  const stat = found ?? parts.directories.get(directory) ?? NO_STAT
  return { ...stat, kind: "directory", children, id: parts.writer.tree(encodeTree(children)) }
}

/** Restores each of the files, or removes it if it did not exist. */
export async function restoreFiles(
  root: string,
  restore: {
    readonly files: readonly string[]
    readonly current: DirectoryNode
    readonly target: string
    readonly takenAt: number
    readonly reader: ObjectReader
    readonly signal: AbortSignal
  },
): Promise<RestoreReport> {
  const reports: RestoreReport[] = []
  for (const file of restore.files)
    reports.push(await restoreTree({ ...restore, root, onlyPath: toByteString(file).split("/") }))
  return {
    written: reports.flatMap(({ written }) => written),
    removed: reports.flatMap(({ removed }) => removed),
    notRestored: reports.flatMap(({ notRestored }) => notRestored),
    kept: reports.flatMap(({ kept }) => kept),
  }
}

/** A tool that writes to a link writes its target, and one that deletes or moves it does that to the link itself: both are saved. */
function coveredNames(root: string, file: string): readonly string[] {
  const [own, target] = [join(realPath(dirname(file)), basename(file)), realPath(file)]
  return (own === target ? [own] : [own, target]).flatMap((path) => coveredName(root, path))
}

/** The path below the root, if snapshots cover such files. */
function coveredName(root: string, path: string): readonly string[] {
  const name = relative(root, path)
  const segments = name.split("/")
  if (name === "" || segments[0] === ".." || name.startsWith("/")) return []
  if (segments.some((segment, index) => isExcluded(segment, index < segments.length - 1 ? "directory" : "other")))
    return []
  return [toByteString(name)]
}

function readFile(
  root: string,
  name: string,
  { writer, maxBytes }: { readonly writer: ObjectWriter; readonly maxBytes: number },
): FileNode | OmittedNode | undefined {
  const path = `${toByteString(root)}/${name}`
  const stats = lstatSync(toNodePath(path), { throwIfNoEntry: false })
  if (stats === undefined) return undefined
  return stats.size > maxBytes ? { kind: "omitted", reason: "too-large" } : readEntry(path, stats, writer)
}

function parentsOf(name: string): readonly string[] {
  const segments = name.split("/").slice(0, -1)
  return ["", ...segments.map((_segment, index) => segments.slice(0, index + 1).join("/"))]
}

function directoryStat(root: string, name: string): StatData | undefined {
  const stats = lstatSync(toNodePath(`${toByteString(root)}/${name}`), { throwIfNoEntry: false })
  return stats?.isDirectory() === true ? statDataOf(stats) : undefined
}

interface TreeParts extends Pick<FileSnapshot, "files" | "directories"> {
  readonly writer: ObjectWriter
}

/** Directories that existed are part of the tree even if they contain none of the files, so that a restore keeps them. */
function buildTree(directory: string, parts: TreeParts): DirectoryNode {
  const children = new Map<string, TreeNode>([
    ...[...parts.files].flatMap(([name, node]) =>
      node === undefined || parentOf(name) !== directory ? [] : [[lastSegment(name), node] as const],
    ),
    ...[...parts.directories].flatMap(([name, stat]) =>
      stat === undefined || name === "" || parentOf(name) !== directory
        ? []
        : [[lastSegment(name), buildTree(name, parts)] as const],
    ),
  ])
  const stat = parts.directories.get(directory) ?? NO_STAT
  return { kind: "directory", ...stat, children, id: parts.writer.tree(encodeTree(children)) }
}

const NO_STAT: StatData = { mode: 0o040755, mtimeMs: 0, ctimeMs: 0, ino: 0, settled: false }

function parentOf(name: string): string {
  return name.slice(0, Math.max(0, name.lastIndexOf("/")))
}

function lastSegment(name: string): string {
  return name.slice(name.lastIndexOf("/") + 1)
}
