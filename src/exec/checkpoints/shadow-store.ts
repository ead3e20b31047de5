import { mkdirSync, realpathSync } from "node:fs"
import { posix } from "node:path"

import type { Clock } from "../../base/clock.ts"
import { epochSeconds } from "../../base/clock.ts"
import { withFileLock } from "../../base/file-lock.ts"
import { fail, ok } from "../../base/result.ts"
import type { Result } from "../../base/result.ts"
import { byteText } from "./byte-text.ts"
import { gitOutput, runGit } from "./git-command.ts"
import { createObjectWriter } from "./object-writer.ts"
import type { ObjectWriter } from "./object-writer.ts"
import { openObjectReader } from "./object-reader.ts"
import type { ObjectReader } from "./object-reader.ts"
import { restoreTree } from "./restore-tree.ts"
import type { RestoreReport } from "./restore-tree.ts"
import { readScanCache, writeScanCache } from "./scan-cache.ts"
import { commitText, listSnapshots } from "./snapshot-list.ts"
import type { Snapshot } from "./snapshot-list.ts"
import {
  cutHistory,
  ensureStore,
  loadProject,
  namedRef,
  namedRefs,
  projectId,
  readEpoch,
  saveProject,
  scanCachePath,
  storeExists,
  storePlace,
} from "./store-files.ts"
import type { Project, StorePlace } from "./store-files.ts"
import type { DirectoryNode } from "./tree-node.ts"
import { scanWorkspace } from "./workspace-scan.ts"

/** Snapshots of workspaces in a repository of our own. Never touches a repository of the person. */
export interface ShadowStore {
  readonly place: StorePlace
  /** Saves the workspace as it is. Without a change since the last snapshot there is no new one. */
  snapshot(root: string, why: SnapshotReason, signal: AbortSignal): Promise<SnapshotOutcome>
  /** Newest first. */
  list(root: string, options: { readonly limit?: number; readonly signal: AbortSignal }): Promise<readonly Snapshot[]>
  /** What changed in the workspace since that snapshot. */
  diff(root: string, hash: string, options: PathOptions): Promise<Result<Difference>>
  /** Brings back the whole workspace or one path of it, after saving it as it is. */
  restore(root: string, hash: string, options: PathOptions): Promise<Result<Restored>>
  /** A snapshot outside the list, kept under a key until it is dropped. Gives its hash. */
  keep(root: string, key: string, options: KeepOptions): Promise<string>
  drop(root: string, key: string, signal: AbortSignal): Promise<void>
  /** Writes what was learned about the workspaces, so that the next process starts fast. */
  close(): void
}

export interface SnapshotReason {
  readonly reason: string
  readonly turn?: string | undefined
  readonly session?: string | undefined
}

export interface SnapshotOutcome {
  readonly hash: string
  /** False when the last snapshot is the same already. */
  readonly created: boolean
}

export interface PathOptions {
  /** A path below the root. */
  readonly file?: string | undefined
  readonly signal: AbortSignal
  /** How the state before a restore is called in the list. */
  readonly before?: string
}

export interface KeepOptions {
  readonly reason: string
  readonly signal: AbortSignal
  /** A snapshot of the list to keep, instead of the workspace as it is. */
  readonly of?: string
}

export interface Difference {
  readonly text: string
  readonly truncated: boolean
  readonly files: readonly string[]
}

export interface Restored extends RestoreReport {
  /** Restoring this one undoes the restore. */
  readonly before: string
}

export interface ShadowStoreOptions {
  readonly home: string
  /** Where programs are looked for. */
  readonly path: string
  readonly maxSnapshots: number
  readonly maxFileMb: number
  readonly clock: Clock
}

const MAX_FILES = 50_000
const LOCK_WAIT_MS = 15_000
const MAX_DIFF_BYTES = 400_000
/** What a restore is about to overwrite is saved even when it is large. */
const MAX_RESCUED_BYTES = 1024 * 1024 * 1024
const DEFAULT_LIMIT = 100

export function createShadowStore(options: ShadowStoreOptions): ShadowStore {
  const place = storePlace(options.home, options.path)
  const pictures = new Map<string, Picture>()
  const parts: Parts = { place, options, pictures }
  const locked = <T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> => {
    mkdirSync(place.directory, { recursive: true, mode: 0o700 })
    return withFileLock(place.lockPath, { waitMs: LOCK_WAIT_MS, signal }, work)
  }
  return {
    place,
    snapshot: (root, why, signal) =>
      locked(signal, async () => (await takeSnapshot(root, { why, signal }, parts)).outcome),
    list: async (root, { limit = DEFAULT_LIMIT, signal }) => {
      if (!storeExists(place)) return []
      const head = (await loadProject(place, projectId(root), signal))?.snapshots.at(-1)?.hash
      return head === undefined ? [] : await listSnapshots(place, head, { limit, signal })
    },
    diff: (root, hash, wish) =>
      locked(wish.signal, async () => {
        const target = await findTarget(root, hash, { ...wish, place })
        return target.ok ? ok(await difference(root, target.value, { wish, parts })) : target
      }),
    restore: (root, hash, wish) =>
      locked(wish.signal, async () => {
        const target = await findTarget(root, hash, { ...wish, place })
        return target.ok ? await restore(root, target.value, { wish, parts }) : target
      }),
    keep: (root, key, wish) => locked(wish.signal, () => keepUnder(root, key, { wish, parts })),
    drop: async (root, key, signal) => {
      if (!storeExists(place)) return
      await locked(signal, () => gitOutput(place, ["update-ref", "-d", namedRef(projectId(root), key)], { signal }))
    },
    close: () => {
      for (const [root, picture] of pictures) if (picture.unsaved > 0) savePicture(root, picture, place)
    },
  }
}

interface Parts {
  readonly place: StorePlace
  readonly options: ShadowStoreOptions
  readonly pictures: Map<string, Picture>
}

/** What a workspace looked like at the last scan. */
interface Picture {
  readonly epoch: string
  readonly root: DirectoryNode
  /** Files that a new process would have to read again. */
  readonly unsaved: number
}

/** So many files read again would be felt. */
const MANY_UNSAVED = 500

interface ScanWish {
  readonly parts: Parts
  readonly signal: AbortSignal
  readonly alsoLarge?: ReadonlySet<string>
}

/** `use` is called with the tree of the workspace while objects may still be added; afterwards all of them are stored. */
async function scan(
  root: string,
  { parts, signal, alsoLarge }: ScanWish,
  use: (tree: string, writer: ObjectWriter) => Promise<void>,
): Promise<DirectoryNode> {
  const { place, options, pictures } = parts
  await ensureStore(place, signal)
  const epoch = readEpoch(place)
  const known = pictures.get(root)
  const usable = known?.epoch === epoch ? known : undefined
  const previous = usable?.root ?? readScanCache(scanCachePath(place, projectId(root)), epoch)
  const writer = createObjectWriter(place, signal)
  const limit = options.maxFileMb * 1024 * 1024
  try {
    const found = await scanWorkspace({
      root,
      previous,
      writer,
      maxFiles: MAX_FILES,
      sizeLimit: (path) => (alsoLarge?.has(path) === true ? MAX_RESCUED_BYTES : limit),
      skipped: new Set([byteText(options.home), byteText(realOrSame(options.home))]),
      signal,
    })
    await use(found.root.id, writer)
    await writer.finish()
    const picture = { epoch, root: found.root, unsaved: (usable?.unsaved ?? 0) + found.read }
    if (picture.unsaved >= MANY_UNSAVED) savePicture(root, picture, place)
    pictures.set(root, picture.unsaved >= MANY_UNSAVED ? { ...picture, unsaved: 0 } : picture)
    return found.root
  } finally {
    writer.abandon()
  }
}

function savePicture(root: string, { epoch, root: node }: Picture, place: StorePlace): void {
  writeScanCache(scanCachePath(place, projectId(root)), { epoch, root: node })
}

async function takeSnapshot(
  root: string,
  wish: { readonly why: SnapshotReason; readonly signal: AbortSignal; readonly alsoLarge?: ReadonlySet<string> },
  parts: Parts,
): Promise<{ readonly outcome: SnapshotOutcome; readonly node: DirectoryNode }> {
  const { place, options } = parts
  const id = projectId(root)
  let outcome: SnapshotOutcome | undefined
  let saved: Project | undefined
  const node = await scan(root, { ...wish, parts }, async (tree, writer) => {
    const now = epochSeconds(options.clock)
    const project = (await loadProject(place, id, wish.signal)) ?? newProject(root, now)
    const last = project.snapshots.at(-1)
    if (last?.tree === tree) {
      outcome = { hash: last.hash, created: false }
      return
    }
    const hash = writer.commit(commitText({ tree, parent: last?.hash, project: id, ...wish.why, seconds: now }))
    saved = { ...project, lastTouch: now, snapshots: [...project.snapshots, { hash, tree }] }
    outcome = { hash, created: true }
  })
  if (saved !== undefined) await saveProject(place, shortened(saved, parts), wish.signal)
  if (outcome === undefined) throw new Error("the snapshot was not taken")
  return { outcome, node }
}

function newProject(workdir: string, now: number): Project {
  return { id: projectId(workdir), workdir, createdAt: now, lastTouch: now, snapshots: [] }
}

function shortened(project: Project, { place, options }: Parts): Project {
  const snapshots = project.snapshots.slice(-Math.max(1, options.maxSnapshots))
  const [before, after] = [project.snapshots[0]?.hash, snapshots[0]?.hash]
  if (before === undefined || after === undefined || before === after) return project
  cutHistory(place, { from: [before], to: [after] })
  return { ...project, snapshots }
}

/** Without a parent: what was before it may go. */
async function keepUnder(
  root: string,
  key: string,
  { wish, parts }: { readonly wish: KeepOptions; readonly parts: Parts },
): Promise<string> {
  const { place, options } = parts
  const { reason, signal } = wish
  const id = projectId(root)
  const existing = (await loadProject(place, id, signal))?.snapshots.find(({ hash }) => hash === wish.of)?.tree
  const tree = existing ?? (await scan(root, { parts, signal }, () => Promise.resolve())).id
  const text = commitText({ tree, parent: undefined, project: id, reason, seconds: epochSeconds(options.clock) })
  const commit = createObjectWriter(place, signal).commit(text)
  await touchProject(root, { parts, signal })
  await gitOutput(place, ["update-ref", namedRef(id, key), commit], { signal })
  return commit
}

async function touchProject(
  root: string,
  { parts, signal }: { readonly parts: Parts; readonly signal: AbortSignal },
): Promise<void> {
  const now = epochSeconds(parts.options.clock)
  const project = (await loadProject(parts.place, projectId(root), signal)) ?? newProject(root, now)
  await saveProject(parts.place, { ...project, lastTouch: now }, signal)
}

interface Target {
  readonly tree: string
  /** The path below the root, as byte text, normalised. */
  readonly only: readonly string[] | undefined
}

/** A snapshot of this workspace and a path inside it, or a sentence that says what is wrong. */
async function findTarget(
  root: string,
  hash: string,
  { file, place, signal }: PathOptions & { readonly place: StorePlace },
): Promise<Result<Target>> {
  if (!/^[0-9a-f]{4,64}$/u.test(hash))
    return fail(`"${hash.slice(0, 70)}" is no checkpoint: give 4 to 64 hexadecimal digits`)
  const only = file === undefined ? ok(undefined) : insidePath(file)
  if (!only.ok) return only
  const id = projectId(root)
  const project = storeExists(place) ? await loadProject(place, id, signal) : undefined
  const known = project?.snapshots.filter((snapshot) => snapshot.hash.startsWith(hash)) ?? []
  const named = project === undefined || known.length > 0 ? [] : await namedTargets(hash, { place, id, signal })
  const [found, ...others] = [...known, ...named]
  if (found === undefined) return fail(`there is no checkpoint ${hash} of ${root}; list them first`)
  if (others.some((other) => other.hash !== found.hash))
    return fail(`several checkpoints begin with ${hash}; give more digits`)
  return ok({ tree: found.tree, only: only.value })
}

async function namedTargets(
  hash: string,
  { place, id, signal }: { readonly place: StorePlace; readonly id: string; readonly signal: AbortSignal },
): Promise<readonly { readonly hash: string; readonly tree: string }[]> {
  const refs = await namedRefs(place, id, signal)
  if (refs.length === 0) return []
  const output = await gitOutput(place, ["log", "--no-walk", "--format=%H %T", ...refs], { signal })
  const lines = output.toString("utf8").split("\n")
  return lines
    .filter((line) => line.startsWith(hash))
    .map((line) => ({ hash: line.slice(0, 40), tree: line.slice(41) }))
}

function insidePath(file: string): Result<readonly string[]> {
  const path = posix.normalize(file)
  if (file === "" || file.includes("\0")) return fail("name a file")
  if (posix.isAbsolute(path)) return fail(`the path ${file} is absolute; give one inside the workspace`)
  const segments = path.split("/").filter((segment) => segment !== "" && segment !== ".")
  if (segments[0] === "..") return fail(`the path ${file} is outside the workspace`)
  if (segments.length === 0) return fail("name a file; without one everything is meant")
  if (segments.includes(".git")) return fail(`checkpoints never touch version control, so not ${file}`)
  return ok(segments.map(byteText))
}

interface TargetWish {
  readonly wish: PathOptions
  readonly parts: Parts
}

async function difference(root: string, { tree, only }: Target, { wish, parts }: TargetWish): Promise<Difference> {
  const { signal } = wish
  const now = await scan(root, { parts, signal }, () => Promise.resolve())
  const paths = only === undefined ? [] : ["--", Buffer.from(only.join("/"), "latin1").toString("utf8")]
  const common = [
    "--literal-pathspecs",
    "diff",
    "--no-color",
    "--no-ext-diff",
    "--no-textconv",
    "--ignore-submodules=all",
  ]
  const range = [tree, now.id, ...paths]
  const names = await gitOutput(parts.place, [...common, "--no-renames", "--name-only", "-z", ...range], { signal })
  const patch = await runGit(parts.place, [...common, ...range], { signal, maxBytes: MAX_DIFF_BYTES })
  return {
    text: patch.stdout.toString("utf8"),
    truncated: patch.truncated,
    files: names
      .toString("utf8")
      .split("\0")
      .filter((name) => name !== ""),
  }
}

async function restore(root: string, target: Target, { wish, parts }: TargetWish): Promise<Result<Restored>> {
  const reader = openObjectReader(parts.place, wish.signal)
  try {
    if (target.only !== undefined && !(await holds(target.tree, target.only, reader)))
      return fail(`that checkpoint has no ${wish.file ?? ""}; if it is new since then, remove it yourself`)
    return ok(await saveAndRestore(root, target, { wish, parts, reader }))
  } finally {
    await reader.close()
  }
}

async function saveAndRestore(
  root: string,
  { tree, only }: Target,
  { wish, parts, reader }: TargetWish & { readonly reader: ObjectReader },
): Promise<Restored> {
  const { signal } = wish
  const listed = await gitOutput(parts.place, ["ls-tree", "-r", "-z", "--name-only", tree], { signal })
  const alsoLarge = new Set(listed.toString("latin1").split("\0"))
  const before = await takeSnapshot(root, { why: { reason: wish.before ?? "pre-rollback" }, signal, alsoLarge }, parts)
  const target = { root, current: before.node, target: tree, reader, signal, ...(only === undefined ? {} : { only }) }
  return { ...(await restoreTree(target)), before: before.outcome.hash }
}

async function holds(tree: string, path: readonly string[], reader: ObjectReader): Promise<boolean> {
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

function realOrSame(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    return path
  }
}
