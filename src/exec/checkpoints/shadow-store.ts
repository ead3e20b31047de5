import { join, posix } from "node:path"

import type { Clock } from "../../base/clock.ts"
import { epochSeconds } from "../../base/clock.ts"
import { realPath } from "../../base/real-path.ts"
import { fail, ok } from "../../base/result.ts"
import type { Result } from "../../base/result.ts"
import { toByteString } from "./byte-string.ts"
import { dropFileSnapshot, restoreFiles, scanFiles, takeFileSnapshot, withSavedFiles } from "./file-snapshots.ts"
import type { FileSnapshot, FileSnapshotRequest } from "./file-snapshots.ts"
import { gitOutput, runGit } from "./git-command.ts"
import { OMITTED_ID } from "./git-objects.ts"
import { createObjectWriter, removeUnfinishedPacks } from "./object-writer.ts"
import type { ObjectWriter } from "./object-writer.ts"
import { openObjectReader } from "./object-reader.ts"
import type { ObjectReader } from "./object-reader.ts"
import { restoreTree } from "./restore-tree.ts"
import type { RestoreReport } from "./restore-tree.ts"
import { hasSmallScanCache, readScanCache, writeScanCache } from "./scan-cache.ts"
import { commitText, listSnapshots } from "./snapshot-list.ts"
import type { Snapshot, SnapshotReason } from "./snapshot-list.ts"
import {
  ensureStore,
  fileProjectId,
  loadProject,
  namedRef,
  namedRefs,
  newProject,
  projectId,
  readEpoch,
  replaceSnapshot,
  saveProject,
  scanCachePath,
  storeExists,
  storePaths,
} from "./store-files.ts"
import type { Project, SnapshotCommit, StorePaths } from "./store-files.ts"
import { createStoreLock } from "./store-lock.ts"
import type { DirectoryNode } from "./tree-node.ts"
import { hasMoreFiles, scanWorkspace } from "./workspace-scan.ts"
import type { ScanResult } from "./workspace-scan.ts"

/** Stores snapshots of workspaces in a separate repository. Never touches the user's repositories. */
export interface ShadowStore {
  readonly paths: StorePaths
  /** Saves the current state of the workspace. Creates no new snapshot when nothing has changed since the last one. */
  snapshot(
    root: string,
    why: SnapshotReason,
    signal: AbortSignal,
    /** Files that were saved with `snapshotFiles` before they were written, while this snapshot was still running: it has their saved content. */
    saved?: () => FileSnapshot | undefined,
  ): Promise<SnapshotOutcome>
  /** Scans a large workspace and stores its files without a snapshot, so that the next snapshot is fast. */
  prepare(root: string, signal: AbortSignal): Promise<void>
  /** Saves single files, also while a snapshot of this store is running. Undefined when snapshots cover none of them. */
  snapshotFiles(root: string, request: Omit<FileSnapshotRequest, "maxFileBytes">): Promise<FileSnapshot | undefined>
  /** Removes a snapshot of single files from the list. */
  dropFiles(root: string, snapshot: FileSnapshot, signal: AbortSignal): Promise<void>
  /** Newest first. */
  list(root: string, options: { readonly limit?: number; readonly signal: AbortSignal }): Promise<readonly Snapshot[]>
  /** Compares the snapshot with the current state of the workspace. */
  diff(root: string, hash: string, options: SnapshotPathOptions): Promise<Result<SnapshotDiff>>
  /** Restores the whole workspace or one path of it, after taking a snapshot of the current state. */
  restore(root: string, hash: string, options: SnapshotPathOptions): Promise<Result<RestoreOutcome>>
  /** Saves a snapshot outside the list, under a key, until `deleteNamed`. Returns its hash. */
  saveNamed(root: string, key: string, options: SaveNamedOptions): Promise<string>
  deleteNamed(root: string, key: string, signal: AbortSignal): Promise<void>
  /** Writes the scan caches, so that the next process starts fast. */
  close(): Promise<void>
}

export interface SnapshotOutcome {
  readonly hash: string
  /** False when the last snapshot is identical. */
  readonly created: boolean
  /** Paths below the root that could not be read and are not part of the snapshot. */
  readonly unreadable: readonly string[]
}

export interface SnapshotPathOptions {
  /** A path below the root. */
  readonly file?: string | undefined
  readonly signal: AbortSignal
  /** Reason of the snapshot that a restore takes first, as shown in the list. */
  readonly undoReason?: string
}

export interface SaveNamedOptions {
  readonly reason: string
  readonly signal: AbortSignal
  /** Hash of a listed snapshot to save instead of the current state of the workspace. */
  readonly fromSnapshot?: string
}

export interface SnapshotDiff {
  readonly text: string
  readonly truncated: boolean
  readonly files: readonly string[]
  /** Those that are newer than the snapshot, which a restore removes. */
  readonly added: readonly string[]
}

export interface RestoreOutcome extends RestoreReport {
  /** The restored snapshot. */
  readonly snapshot: Snapshot
  /** Snapshot taken before the restore; restoring it undoes the restore. */
  readonly undoHash: string
}

export interface ShadowStoreOptions {
  readonly home: string
  /** Value of the PATH variable, to find git. */
  readonly path: string
  readonly maxSnapshots: number
  readonly maxFileMb: number
  readonly clock: Clock
}

const MAX_FILES = 50_000
/** With fewer files, a first snapshot takes a fraction of a second. */
const MIN_PREPARED_FILES = 4000
const MAX_DIFF_BYTES = 400_000
/** Size limit for files that a restore is about to overwrite: the undo snapshot saves them even when they are large. */
const MAX_OVERWRITTEN_BYTES = 1024 * 1024 * 1024
const DEFAULT_LIMIT = 100

export function createShadowStore(options: ShadowStoreOptions): ShadowStore {
  const paths = storePaths(options.home, options.path)
  const scans = new Map<string, ScanState>()
  const context: StoreContext = { paths, options, scans }
  const lock = createStoreLock(paths)
  return {
    paths: paths,
    snapshot: (root, why, signal, saved) =>
      lock.holdForScan(signal, async () => (await takeSnapshot(root, { why, signal, saved }, context)).outcome),
    prepare: async (root, signal) => {
      if (scans.has(root) || hasSmallScanCache(scanCachePath(paths, projectId(root)))) return
      if (!(await hasMoreFiles(root, { maxFiles: MIN_PREPARED_FILES, skipped: skippedPaths(options), signal }))) return
      await lock.holdForScan(signal, async () => {
        await scan(root, { context, signal }, () => Promise.resolve())
      })
    },
    snapshotFiles: (root, request) =>
      lock.join(request.signal, () =>
        takeFileSnapshot(root, { ...request, maxFileBytes: maxFileBytes(options) }, { ...options, paths }),
      ),
    dropFiles: (root, snapshot, signal) => lock.join(signal, () => dropFileSnapshot(root, snapshot, { paths, signal })),
    list: async (root, { limit = DEFAULT_LIMIT, signal }) => {
      if (!storeExists(paths)) return []
      const listed = await Promise.all(
        [projectId(root), fileProjectId(root)].map((id) => listProject(id, { paths, limit, signal })),
      )
      return listed
        .flat()
        .toSorted((a, b) => b.time - a.time)
        .slice(0, limit)
    },
    diff: (root, hash, request) =>
      lock.hold(request.signal, async () => {
        const target = await findTarget(root, hash, { ...request, paths })
        return target.ok ? ok(await diffAgainst(root, target.value, { request, context })) : target
      }),
    restore: (root, hash, request) =>
      lock.hold(request.signal, async () => {
        const target = await findTarget(root, hash, { ...request, paths })
        return target.ok ? await restore(root, target.value, { request, context }) : target
      }),
    saveNamed: (root, key, request) => lock.hold(request.signal, () => saveNamed(root, key, { request, context })),
    deleteNamed: async (root, key, signal) => {
      if (!storeExists(paths)) return
      await lock.hold(signal, () => gitOutput(paths, ["update-ref", "-d", namedRef(projectId(root), key)], { signal }))
    },
    close: async () => {
      for (const [root, state] of scans) if (state.unsaved > 0) await saveScan(root, state, paths)
    },
  }
}

function skippedPaths({ home }: ShadowStoreOptions): ReadonlySet<string> {
  return new Set([toByteString(home), toByteString(realPath(home))])
}

function maxFileBytes({ maxFileMb }: ShadowStoreOptions): number {
  return maxFileMb * 1024 * 1024
}

async function listProject(
  id: string,
  { paths, limit, signal }: { readonly paths: StorePaths; readonly limit: number; readonly signal: AbortSignal },
): Promise<readonly Snapshot[]> {
  const known = (await loadProject(paths, id, signal))?.snapshots ?? []
  const head = known.at(-1)?.hash
  if (head === undefined) return []
  const precedes = new Map(known.map((snapshot) => [snapshot.hash, snapshot.precedes]))
  const listed = await listSnapshots(paths, head, { limit, signal })
  return listed.map((snapshot) => ({ ...snapshot, precedes: precedes.get(snapshot.hash) ?? snapshot.precedes }))
}

interface StoreContext {
  readonly paths: StorePaths
  readonly options: ShadowStoreOptions
  readonly scans: Map<string, ScanState>
}

/** The state of a workspace at the last scan. */
interface ScanState {
  readonly epoch: string
  readonly root: DirectoryNode
  /** Number of files that a new process would have to read again. */
  readonly unsaved: number
}

/** From this many on, reading them again would noticeably delay the next process, so the scan cache is written at once. */
const MAX_UNSAVED = 500

interface ScanRequest {
  readonly context: StoreContext
  readonly signal: AbortSignal
  /** Paths below the root that are saved regardless of the configured file size limit. */
  readonly unlimited?: ReadonlySet<string>
  readonly saved?: (() => FileSnapshot | undefined) | undefined
}

/** Calls `use` with the tree of the workspace while objects may still be added, and stores all of them afterwards. */
async function scan(
  root: string,
  { context, signal, unlimited, saved }: ScanRequest,
  use: (tree: string, writer: ObjectWriter) => Promise<void>,
): Promise<ScanResult> {
  const { paths, options, scans } = context
  await ensureStore(paths, signal)
  const epoch = readEpoch(paths)
  const known = scans.get(root)
  const usable = known?.epoch === epoch ? known : undefined
  const previous = usable?.root ?? (await readScanCache(scanCachePath(paths, projectId(root)), epoch, signal))
  removeUnfinishedPacks(paths)
  const writer = createObjectWriter(paths, signal)
  const limit = maxFileBytes(options)
  try {
    const found = await scanWorkspace({
      root,
      previous,
      writer,
      maxFiles: MAX_FILES,
      sizeLimit: (path) => (unlimited?.has(path) === true ? MAX_OVERWRITTEN_BYTES : limit),
      skipped: skippedPaths(options),
      signal,
    })
    const files = saved?.()
    const tree = files === undefined ? found.root : withSavedFiles(found.root, files, writer)
    await use(tree.id, writer)
    await writer.finish()
    const state = { epoch, root: found.root, unsaved: (usable?.unsaved ?? 0) + found.read }
    if (state.unsaved >= MAX_UNSAVED) await saveScan(root, state, paths)
    scans.set(root, state.unsaved >= MAX_UNSAVED ? { ...state, unsaved: 0 } : state)
    return found
  } finally {
    writer.abandon()
  }
}

async function saveScan(root: string, { epoch, root: node }: ScanState, paths: StorePaths): Promise<void> {
  await writeScanCache(scanCachePath(paths, projectId(root)), { epoch, root: node })
}

async function takeSnapshot(
  root: string,
  request: {
    readonly why: SnapshotReason
    readonly signal: AbortSignal
    readonly unlimited?: ReadonlySet<string>
    readonly saved?: (() => FileSnapshot | undefined) | undefined
    /** The tree that is about to be restored, for the snapshot that undoes the restore. */
    readonly restoring?: string
  },
  context: StoreContext,
): Promise<{ readonly outcome: SnapshotOutcome; readonly node: DirectoryNode }> {
  const { paths, options } = context
  const id = projectId(root)
  let outcome: Omit<SnapshotOutcome, "unreadable"> | undefined
  let saved: Project | undefined
  let added: { readonly project: Project; readonly snapshot: SnapshotCommit } | undefined
  // The time before the scan: what changes during the scan changes after the snapshot.
  const now = epochSeconds(options.clock)
  const { root: node, unreadable } = await scan(root, { ...request, context }, async (tree, writer) => {
    const project = (await loadProject(paths, id, request.signal)) ?? newProject(projectId(root), root, now)
    const last = project.snapshots.at(-1)
    if (last?.tree === tree && isReusable(last, tree, request.restoring)) {
      const precedes = withMessage(last.precedes, request.why.message)
      if (precedes !== last.precedes)
        saved = { ...project, lastTouch: now, snapshots: [...project.snapshots.slice(0, -1), { ...last, precedes }] }
      outcome = { hash: last.hash, created: false }
      return
    }
    const precedes = withMessage([], request.why.message)
    const hash = writer.commit(commitText({ tree, parent: last?.hash, project: id, ...request.why, seconds: now }))
    added = { project: { ...project, lastTouch: now }, snapshot: { hash, tree, precedes } }
    outcome = { hash, created: true }
  })
  const changed =
    added === undefined
      ? saved
      : replaceSnapshot(paths, added.project, { added: added.snapshot, max: options.maxSnapshots })
  if (changed !== undefined) await saveProject(paths, changed, request.signal)
  if (outcome === undefined) throw new Error("the snapshot was not taken")
  return { outcome: { ...outcome, unreadable }, node }
}

/**
 * A restore gets a snapshot of its own, because restoring the snapshot of a turn changes the conversation, and undoing a restore
 * must not. It needs none if it will change nothing.
 */
function isReusable(last: SnapshotCommit, tree: string, restoring: string | undefined): boolean {
  return restoring === undefined || restoring === tree || last.precedes.length === 0
}

/** Sessions that take turns on unchanged files share a snapshot. */
const MAX_PRECEDED_MESSAGES = 50

function withMessage(precedes: readonly number[], message: number | undefined): readonly number[] {
  if (message === undefined || precedes.includes(message)) return precedes
  return [...precedes, message].slice(-MAX_PRECEDED_MESSAGES)
}

/** The commit has no parent, so that it does not protect older snapshots from garbage collection. */
async function saveNamed(
  root: string,
  key: string,
  { request, context }: { readonly request: SaveNamedOptions; readonly context: StoreContext },
): Promise<string> {
  const { paths, options } = context
  const { reason, signal } = request
  const id = projectId(root)
  const existing = (await loadProject(paths, id, signal))?.snapshots.find(
    ({ hash }) => hash === request.fromSnapshot,
  )?.tree
  const tree = existing ?? (await scan(root, { context, signal }, () => Promise.resolve())).root.id
  const text = commitText({ tree, parent: undefined, project: id, reason, seconds: epochSeconds(options.clock) })
  const commit = createObjectWriter(paths, signal).commit(text)
  await touchProject(root, { context, signal })
  await gitOutput(paths, ["update-ref", namedRef(id, key), commit], { signal })
  return commit
}

async function touchProject(
  root: string,
  { context, signal }: { readonly context: StoreContext; readonly signal: AbortSignal },
): Promise<void> {
  const now = epochSeconds(context.options.clock)
  const project = (await loadProject(context.paths, projectId(root), signal)) ?? newProject(projectId(root), root, now)
  await saveProject(context.paths, { ...project, lastTouch: now }, signal)
}

interface Target extends SnapshotCommit {
  /** Snapshots of single files are restored file by file. */
  readonly coversFiles: boolean
  /** Segments of the requested path below the root, as byte strings; undefined for the whole workspace. */
  readonly onlyPath: readonly string[] | undefined
}

/** Finds the snapshot of this workspace and checks the path. Fails with a message for the user. */
async function findTarget(
  root: string,
  hash: string,
  { file, paths, signal }: SnapshotPathOptions & { readonly paths: StorePaths },
): Promise<Result<Target>> {
  if (!/^[0-9a-f]{4,64}$/u.test(hash))
    return fail(`"${hash.slice(0, 70)}" is not a checkpoint hash; give 4 to 64 hexadecimal digits`)
  const onlyPath = file === undefined ? ok(undefined) : parseRelativePath(file)
  if (!onlyPath.ok) return onlyPath
  const id = projectId(root)
  const project = storeExists(paths) ? await loadProject(paths, id, signal) : undefined
  const fileProject = storeExists(paths) ? await loadProject(paths, fileProjectId(root), signal) : undefined
  const matching = (snapshots: readonly SnapshotCommit[] = []): readonly SnapshotCommit[] =>
    snapshots.filter((snapshot) => snapshot.hash.startsWith(hash))
  const ofFiles = matching(fileProject?.snapshots)
  const known = [...matching(project?.snapshots), ...ofFiles]
  const named = project === undefined || known.length > 0 ? [] : await namedTargets(hash, { paths, id, signal })
  const [found, ...others] = [...known, ...named]
  if (found === undefined)
    return fail(`there is no checkpoint ${hash} of ${root}; list the checkpoints to see their hashes`)
  if (others.some((other) => other.hash !== found.hash))
    return fail(`several checkpoints begin with ${hash}; use more digits`)
  return ok({ ...found, coversFiles: ofFiles.includes(found), onlyPath: onlyPath.value })
}

async function namedTargets(
  hash: string,
  { paths, id, signal }: { readonly paths: StorePaths; readonly id: string; readonly signal: AbortSignal },
): Promise<readonly SnapshotCommit[]> {
  const refs = await namedRefs(paths, id, signal)
  if (refs.length === 0) return []
  const output = await gitOutput(paths, ["log", "--no-walk", "--format=%H %T", ...refs], { signal })
  const lines = output.toString("utf8").split("\n")
  return lines
    .filter((line) => line.startsWith(hash))
    .map((line) => ({ hash: line.slice(0, 40), tree: line.slice(41), precedes: [] }))
}

function parseRelativePath(file: string): Result<readonly string[]> {
  const path = posix.normalize(file)
  if (file === "" || file.includes("\0")) return fail("the file name is empty or invalid")
  if (posix.isAbsolute(path)) return fail(`the path ${file} is absolute; use a path relative to the workspace`)
  const segments = path.split("/").filter((segment) => segment !== "" && segment !== ".")
  if (segments[0] === "..") return fail(`the path ${file} is outside the workspace`)
  if (segments.length === 0) return fail(`the path ${file} is the workspace itself; omit it to select everything`)
  if (segments.includes(".git"))
    return fail(`checkpoints do not cover .git directories, so they do not contain ${file}`)
  return ok(segments.map(toByteString))
}

interface TargetRequest {
  readonly request: SnapshotPathOptions
  readonly context: StoreContext
}

async function diffAgainst(root: string, target: Target, { request, context }: TargetRequest): Promise<SnapshotDiff> {
  const { signal } = request
  const { tree, onlyPath } = target
  const now = target.coversFiles
    ? await currentFiles(root, target, { request, context })
    : (await scan(root, { context, signal }, () => Promise.resolve())).root
  const pathspec = onlyPath === undefined ? [] : ["--", Buffer.from(onlyPath.join("/"), "latin1").toString("utf8")]
  const common = [
    "--literal-pathspecs",
    "diff",
    "--no-color",
    "--no-ext-diff",
    "--no-textconv",
    "--ignore-submodules=all",
  ]
  const range = [tree, now.id, ...pathspec]
  const names = await gitOutput(context.paths, [...common, "--no-renames", "--name-status", "-z", ...range], { signal })
  const patch = await runGit(context.paths, [...common, ...range], { signal, maxBytes: MAX_DIFF_BYTES })
  return {
    text: patch.stdout.toString("utf8").replaceAll(`Subproject commit ${OMITTED_ID}`, OMITTED_CONTENT),
    truncated: patch.truncated,
    ...changedNames(names.toString("utf8").split("\0")),
  }
}

const OMITTED_CONTENT = "(content not shown: snapshots do not cover this file)"

/** Reads pairs of a status letter and a path. */
function changedNames(fields: readonly string[]): Pick<SnapshotDiff, "files" | "added"> {
  const files = fields.filter((name, index) => index % 2 === 1 && name !== "")
  return { files, added: files.filter((_, index) => fields[2 * index] === "A") }
}

async function currentFiles(
  root: string,
  { hash }: Target,
  { request, context }: TargetRequest,
): Promise<DirectoryNode> {
  const { signal } = request
  const { files = [] } = await readSnapshot(hash, { paths: context.paths, signal })
  const writer = createObjectWriter(context.paths, signal)
  const { node } = scanFiles(root, { files: absolutePaths(root, files), maxFileBytes: MAX_OVERWRITTEN_BYTES }, writer)
  await writer.finish()
  return node
}

async function restore(
  root: string,
  target: Target,
  { request, context }: TargetRequest,
): Promise<Result<RestoreOutcome>> {
  const reader = openObjectReader(context.paths, request.signal)
  try {
    if (
      !target.coversFiles &&
      target.onlyPath !== undefined &&
      !(await containsPath(target.tree, target.onlyPath, reader))
    )
      return fail(`the checkpoint does not contain ${request.file ?? ""}; if it was created later, delete it yourself`)
    return ok(await saveAndRestore(root, target, { request, context, reader }))
  } finally {
    await reader.close()
  }
}

async function saveAndRestore(
  root: string,
  target: Target,
  { request, context, reader }: TargetRequest & { readonly reader: ObjectReader },
): Promise<RestoreOutcome> {
  const { signal } = request
  if (target.coversFiles) return await saveAndRestoreFiles(root, target, { request, context, reader })
  const { hash, tree, precedes, onlyPath } = target
  const listed = await gitOutput(context.paths, ["ls-tree", "-r", "-z", "--name-only", tree], { signal })
  const unlimited = new Set(listed.toString("latin1").split("\0"))
  const why = { reason: request.undoReason ?? "pre-rollback" }
  const snapshot = await readSnapshot(hash, { paths: context.paths, signal })
  const undo = await takeSnapshot(root, { why, signal, unlimited, restoring: tree }, context)
  const selection = onlyPath === undefined ? {} : { onlyPath }
  const report = await restoreTree({
    root,
    current: undo.node,
    target: tree,
    takenAt: snapshot.time,
    reader,
    signal,
    ...selection,
  })
  return { ...report, snapshot: { ...snapshot, precedes }, undoHash: undo.outcome.hash }
}

async function saveAndRestoreFiles(
  root: string,
  target: Target,
  { request, context, reader }: TargetRequest & { readonly reader: ObjectReader },
): Promise<RestoreOutcome> {
  const { signal } = request
  const { paths, options } = context
  const snapshot = await readSnapshot(target.hash, { paths, signal })
  const files = snapshot.files ?? []
  const undo = await takeFileSnapshot(
    root,
    {
      files: absolutePaths(root, files),
      why: { reason: request.undoReason ?? "pre-rollback" },
      maxFileBytes: MAX_OVERWRITTEN_BYTES,
      signal,
    },
    { ...options, paths },
  )
  if (undo === undefined) throw new Error(`the checkpoint ${target.hash} contains no files`)
  const selected = target.onlyPath?.join("/")
  const report = await restoreFiles(root, {
    files: files.filter((file) => selected === undefined || isAtOrBelow(toByteString(file), selected)),
    current: undo.node,
    target: target.tree,
    takenAt: snapshot.time,
    reader,
    signal,
  })
  return { ...report, snapshot: { ...snapshot, precedes: target.precedes }, undoHash: undo.hash }
}

function absolutePaths(root: string, files: readonly string[]): readonly string[] {
  return files.map((file) => join(root, file))
}

function isAtOrBelow(path: string, directory: string): boolean {
  return path === directory || path.startsWith(`${directory}/`)
}

async function readSnapshot(
  hash: string,
  { paths, signal }: { readonly paths: StorePaths; readonly signal: AbortSignal },
): Promise<Snapshot> {
  const [snapshot] = await listSnapshots(paths, hash, { limit: 1, signal })
  if (snapshot === undefined) throw new Error(`the checkpoint ${hash} cannot be read`)
  return snapshot
}

async function containsPath(tree: string, path: readonly string[], reader: ObjectReader): Promise<boolean> {
  let current = tree
  for (const [index, name] of path.entries()) {
    const entry = (await reader.tree(current)).get(name)
    if (entry === undefined) return false
    if (index === path.length - 1) return true
    if (entry.kind !== "directory") return false
    current = entry.id
  }
  return false
}
