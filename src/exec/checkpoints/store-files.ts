import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"

import { isRecord, parseJson } from "../../base/json.ts"
import { randomHex, sha256Hex } from "../../base/random-and-hash.ts"
import { isNotFound } from "../../base/system-error.ts"
import { gitOutput } from "./git-command.ts"
import type { ShadowRepository } from "./git-command.ts"
import { MESSAGE_TRAILER, parseMessageTrailer } from "./commit-trailers.ts"

/** Where a Hermes home keeps its checkpoints. */
export interface StorePaths extends ShadowRepository {
  /** `<home>/checkpoints`. */
  readonly directory: string
  readonly lockPath: string
}

export function storePaths(home: string, searchPath: string): StorePaths {
  const directory = join(home, "checkpoints")
  return { directory, gitDir: join(directory, "store"), lockPath: join(directory, "store.lock"), searchPath }
}

/** A workspace and its snapshots, oldest first. */
export interface Project {
  readonly id: string
  readonly workdir: string
  /** Epoch seconds. */
  readonly createdAt: number
  readonly lastTouch: number
  readonly snapshots: readonly SnapshotCommit[]
}

export interface SnapshotCommit {
  readonly hash: string
  readonly tree: string
  /** As in `Snapshot`. */
  readonly precedes: readonly number[]
}

export function projectId(workdir: string): string {
  return sha256Hex(workdir).slice(0, 16)
}

/** Snapshots of single files are listed apart, because restoring one must not remove other files. */
export function fileProjectId(workdir: string): string {
  return projectId(`${workdir}\0files`)
}

export function newProject(id: string, workdir: string, now: number): Project {
  return { id, workdir, createdAt: now, lastTouch: now, snapshots: [] }
}

export function scanCachePath({ gitDir }: StorePaths, id: string): string {
  return join(gitDir, "indexes", id)
}

export function storeExists({ gitDir }: StorePaths): boolean {
  return existsSync(join(gitDir, "HEAD"))
}

/**
 * Creates the store if necessary: one bare repository for all workspaces, accessible to its owner only. It gets its name when it is
 * complete, so a process that is killed leaves no half of it. The caller holds the lock.
 */
export async function ensureStore(paths: StorePaths, signal: AbortSignal): Promise<void> {
  if (storeExists(paths)) return
  for (const name of readdirSync(paths.directory))
    if (UNFINISHED_STORE.test(name)) rmSync(join(paths.directory, name), { recursive: true, force: true })
  const unfinished = { ...paths, gitDir: join(paths.directory, `store.${randomHex(6)}.new`) }
  mkdirSync(unfinished.gitDir, { mode: 0o700 })
  await gitOutput(unfinished, ["init", "--quiet", "--bare", "--template=", "--object-format=sha1"], { signal })
  // The trees hold all permission bits, which `git fsck` would report.
  await gitOutput(unfinished, ["config", "fsck.badFilemode", "ignore"], { signal })
  for (const directory of ["indexes", "projects"]) mkdirSync(join(unfinished.gitDir, directory), { mode: 0o700 })
  renewEpoch(unfinished)
  rmSync(paths.gitDir, { recursive: true, force: true })
  renameSync(unfinished.gitDir, paths.gitDir)
}

const UNFINISHED_STORE = /^store\.[0-9a-f]+\.new$/u

/** The epoch changes whenever objects may have been removed; cached knowledge of the store's contents is then invalid. */
export function readEpoch({ gitDir }: StorePaths): string {
  return readOptional(join(gitDir, "hermes-epoch"))?.trim() ?? ""
}

export function renewEpoch({ gitDir }: StorePaths, epoch = randomHex(8)): void {
  replaceFile(join(gitDir, "hermes-epoch"), epoch)
}

/** Returns undefined for a workspace without snapshots. */
export async function loadProject(paths: StorePaths, id: string, signal: AbortSignal): Promise<Project | undefined> {
  const text = readOptional(join(paths.gitDir, "projects", `${id}.json`))
  const project = text === undefined ? undefined : parseProject(id, text)
  if (project === undefined) return undefined
  const head = readOptional(join(paths.gitDir, refName(id)))?.trim()
  // A process that was killed between the two writes of `saveProject` leaves a ref that is ahead of the list.
  if (head === undefined || head === project.snapshots.at(-1)?.hash) return project
  return { ...project, snapshots: await readCommits(paths, head, signal) }
}

export async function loadProjects(paths: StorePaths, signal: AbortSignal): Promise<readonly Project[]> {
  const directory = join(paths.gitDir, "projects")
  const names = existsSync(directory) ? readdirSync(directory) : []
  const projects: Project[] = []
  for (const name of names.toSorted()) {
    if (!/^[0-9a-f]{16}\.json$/u.test(name)) continue
    const project = await loadProject(paths, name.slice(0, 16), signal)
    if (project !== undefined) projects.push(project)
  }
  return projects
}

/** Writes the ref first: it protects the snapshots from garbage collection. */
export async function saveProject(paths: StorePaths, project: Project, signal: AbortSignal): Promise<void> {
  const head = project.snapshots.at(-1)?.hash
  if (head === undefined) await gitOutput(paths, ["update-ref", "-d", refName(project.id)], { signal })
  else replaceFile(join(paths.gitDir, refName(project.id)), `${head}\n`)
  const record = {
    workdir: project.workdir,
    created_at: project.createdAt,
    last_touch: project.lastTouch,
    snapshots: project.snapshots.map(({ hash, tree, precedes }) =>
      precedes.length === 0 ? [hash, tree] : [hash, tree, precedes],
    ),
  }
  replaceFile(join(paths.gitDir, "projects", `${project.id}.json`), JSON.stringify(record))
}

export async function removeProject(paths: StorePaths, id: string, signal: AbortSignal): Promise<void> {
  const named = await namedRefs(paths, id, signal)
  for (const ref of [refName(id), ...named]) await gitOutput(paths, ["update-ref", "-d", ref], { signal })
  rmSync(join(paths.gitDir, "projects", `${id}.json`), { force: true })
  rmSync(scanCachePath(paths, id), { force: true })
}

/**
 * Cuts off older snapshots like a shallow clone does: the hashes of the remaining ones do not change, and the next garbage
 * collection removes the unreachable ones.
 */
export function moveShallowBoundary(
  paths: StorePaths,
  boundary: { readonly from: readonly string[]; readonly to: readonly string[] },
): void {
  const path = join(paths.gitDir, "shallow")
  const lines = new Set((readOptional(path) ?? "").split("\n").filter((line) => line !== ""))
  for (const hash of boundary.from) lines.delete(hash)
  for (const hash of boundary.to) lines.add(hash)
  if (lines.size === 0) rmSync(path, { force: true })
  else replaceFile(path, `${[...lines].join("\n")}\n`)
}

/** Adds a snapshot or replaces the last one with it, and drops the oldest ones beyond the maximum. */
export function replaceSnapshot(
  paths: StorePaths,
  project: Project,
  {
    added,
    replaces = false,
    max,
  }: { readonly added: SnapshotCommit; readonly replaces?: boolean; readonly max: number },
): Project {
  const before = project.snapshots.slice(0, replaces ? -1 : undefined)
  const snapshots = [...before, added].slice(-Math.max(1, max))
  const [from, to] = [project.snapshots[0]?.hash, snapshots[0]?.hash]
  if (from !== undefined && from !== to) {
    // The first snapshot has no parent to cut off if it was only replaced.
    const isCut = snapshots.length < before.length + 1 && to !== undefined
    moveShallowBoundary(paths, { from: [from], to: isCut ? [to] : [] })
  }
  return { ...project, snapshots }
}

export function refName(id: string): string {
  return `refs/hermes/${id}`
}

/** Hashes the key, because names chosen by the user or the model may not be valid in a ref. */
export function namedRef(id: string, key: string): string {
  return `refs/hermes-named/${id}/${sha256Hex(key).slice(0, 24)}`
}

export async function namedRefs(paths: StorePaths, id: string, signal: AbortSignal): Promise<readonly string[]> {
  const output = await gitOutput(paths, ["for-each-ref", "--format=%(refname)", `refs/hermes-named/${id}/`], { signal })
  return output
    .toString("utf8")
    .split("\n")
    .filter((line) => line !== "")
}

async function readCommits(paths: StorePaths, head: string, signal: AbortSignal): Promise<readonly SnapshotCommit[]> {
  const output = await gitOutput(
    paths,
    ["log", "--first-parent", "--reverse", `--format=%H %T ${MESSAGE_TRAILER}`, head],
    { signal },
  )
  const lines = output
    .toString("utf8")
    .split("\n")
    .filter((line) => line !== "")
  return lines.map((line) => {
    const [hash = "", tree = "", message = ""] = line.split(" ")
    return { hash, tree, precedes: parseMessageTrailer(message) }
  })
}

function parseProject(id: string, text: string): Project | undefined {
  const record = parseJson(text)
  if (!isRecord(record)) return undefined
  const { workdir, created_at: createdAt, last_touch: lastTouch, snapshots } = record
  if (typeof workdir !== "string" || typeof createdAt !== "number" || typeof lastTouch !== "number") return undefined
  if (!Array.isArray(snapshots)) return undefined
  const names = snapshots.flatMap((pair: unknown) => {
    const [hash, tree, messages]: readonly unknown[] = Array.isArray(pair) ? pair : []
    if (typeof hash !== "string" || typeof tree !== "string") return []
    const precedes = Array.isArray(messages) ? messages.filter((message) => typeof message === "number") : []
    return [{ hash, tree, precedes }]
  })
  return { id, workdir, createdAt, lastTouch, snapshots: names }
}

function readOptional(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8")
  } catch (error) {
    if (isNotFound(error)) return undefined
    throw error
  }
}

/** Replaces a file atomically but without fsync: a power failure may cost an undo step, but no change waits for the disk. */
function replaceFile(path: string, text: string): void {
  const temporary = `${path}.${randomHex(6)}.new`
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  try {
    writeFileSync(temporary, text, { mode: 0o600 })
    renameSync(temporary, path)
  } catch (cause) {
    rmSync(temporary, { force: true })
    throw cause
  }
}
