import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"

import { isRecord, parseJson } from "../../base/json.ts"
import { randomHex, sha256Hex } from "../../base/random-and-hash.ts"
import { isNotFound } from "../../base/system-error.ts"
import { gitOutput } from "./git-command.ts"
import type { GitPlace } from "./git-command.ts"

/** Where everything about checkpoints lies in a home. */
export interface StorePlace extends GitPlace {
  /** `<home>/checkpoints`. */
  readonly directory: string
  readonly lockPath: string
}

export function storePlace(home: string, path: string): StorePlace {
  const directory = join(home, "checkpoints")
  return { directory, gitDir: join(directory, "store"), lockPath: join(directory, "store.lock"), path }
}

/** A workspace and its snapshots, oldest first. */
export interface Project {
  readonly id: string
  readonly workdir: string
  /** Epoch seconds. */
  readonly createdAt: number
  readonly lastTouch: number
  readonly snapshots: readonly SnapshotName[]
}

export interface SnapshotName {
  readonly hash: string
  readonly tree: string
}

export function projectId(workdir: string): string {
  return sha256Hex(workdir).slice(0, 16)
}

export function scanCachePath({ gitDir }: StorePlace, id: string): string {
  return join(gitDir, "indexes", id)
}

export function storeExists({ gitDir }: StorePlace): boolean {
  return existsSync(join(gitDir, "HEAD"))
}

/** One bare repository for all workspaces, closed to other people. */
export async function ensureStore(place: StorePlace, signal: AbortSignal): Promise<void> {
  if (storeExists(place)) return
  mkdirSync(place.gitDir, { recursive: true, mode: 0o700 })
  await gitOutput(place, ["init", "--quiet", "--bare", "--template=", "--object-format=sha1"], { signal })
  // Our trees hold all permission bits, which a check of the repository would find unusual.
  await gitOutput(place, ["config", "fsck.badFilemode", "ignore"], { signal })
  for (const folder of ["indexes", "projects"]) mkdirSync(join(place.gitDir, folder), { recursive: true, mode: 0o700 })
  renewEpoch(place)
}

/** Changes whenever objects may have been removed; who remembers what the store holds must forget it then. */
export function readEpoch({ gitDir }: StorePlace): string {
  return readOptional(join(gitDir, "hermes-epoch"))?.trim() ?? ""
}

export function renewEpoch({ gitDir }: StorePlace): void {
  replaceFile(join(gitDir, "hermes-epoch"), randomHex(8))
}

/** Undefined for a workspace without snapshots. */
export async function loadProject(place: StorePlace, id: string, signal: AbortSignal): Promise<Project | undefined> {
  const text = readOptional(join(place.gitDir, "projects", `${id}.json`))
  const project = text === undefined ? undefined : parseProject(id, text)
  if (project === undefined) return undefined
  const head = readOptional(join(place.gitDir, refName(id)))?.trim()
  // A process that was killed between the two writes leaves a reference that is ahead of the list.
  if (head === undefined || head === project.snapshots.at(-1)?.hash) return project
  return { ...project, snapshots: await chainOf(place, head, signal) }
}

export async function loadProjects(place: StorePlace, signal: AbortSignal): Promise<readonly Project[]> {
  const folder = join(place.gitDir, "projects")
  const names = existsSync(folder) ? readdirSync(folder) : []
  const projects: Project[] = []
  for (const name of names.toSorted()) {
    if (!/^[0-9a-f]{16}\.json$/u.test(name)) continue
    const project = await loadProject(place, name.slice(0, 16), signal)
    if (project !== undefined) projects.push(project)
  }
  return projects
}

/** The reference first: it alone keeps the snapshots alive. */
export async function saveProject(place: StorePlace, project: Project, signal: AbortSignal): Promise<void> {
  const head = project.snapshots.at(-1)?.hash
  if (head === undefined) await gitOutput(place, ["update-ref", "-d", refName(project.id)], { signal })
  else replaceFile(join(place.gitDir, refName(project.id)), `${head}\n`)
  const record = {
    workdir: project.workdir,
    created_at: project.createdAt,
    last_touch: project.lastTouch,
    snapshots: project.snapshots.map(({ hash, tree }) => [hash, tree]),
  }
  replaceFile(join(place.gitDir, "projects", `${project.id}.json`), JSON.stringify(record))
}

export async function removeProject(place: StorePlace, id: string, signal: AbortSignal): Promise<void> {
  const named = await namedRefs(place, id, signal)
  for (const ref of [refName(id), ...named]) await gitOutput(place, ["update-ref", "-d", ref], { signal })
  rmSync(join(place.gitDir, "projects", `${id}.json`), { force: true })
  rmSync(scanCachePath(place, id), { force: true })
}

/**
 * Older snapshots are cut off the way a shallow clone is: the names of those that stay do not change, and the next clean-up
 * finds the others unreachable.
 */
export function cutHistory(
  place: StorePlace,
  cut: { readonly from: readonly string[]; readonly to: readonly string[] },
): void {
  const path = join(place.gitDir, "shallow")
  const lines = new Set((readOptional(path) ?? "").split("\n").filter((line) => line !== ""))
  for (const hash of cut.from) lines.delete(hash)
  for (const hash of cut.to) lines.add(hash)
  if (lines.size === 0) rmSync(path, { force: true })
  else replaceFile(path, `${[...lines].join("\n")}\n`)
}

export function refName(id: string): string {
  return `refs/hermes/${id}`
}

/** Names that the person or the model chose may not be valid as a reference. */
export function namedRef(id: string, key: string): string {
  return `refs/hermes-named/${id}/${sha256Hex(key).slice(0, 24)}`
}

export async function namedRefs(place: StorePlace, id: string, signal: AbortSignal): Promise<readonly string[]> {
  const output = await gitOutput(place, ["for-each-ref", "--format=%(refname)", `refs/hermes-named/${id}/`], { signal })
  return output
    .toString("utf8")
    .split("\n")
    .filter((line) => line !== "")
}

async function chainOf(place: StorePlace, head: string, signal: AbortSignal): Promise<readonly SnapshotName[]> {
  const output = await gitOutput(place, ["log", "--first-parent", "--reverse", "--format=%H %T", head], { signal })
  const lines = output
    .toString("utf8")
    .split("\n")
    .filter((line) => line !== "")
  return lines.map((line) => ({ hash: line.slice(0, 40), tree: line.slice(41) }))
}

function parseProject(id: string, text: string): Project | undefined {
  const record = parseJson(text)
  if (!isRecord(record)) return undefined
  const { workdir, created_at: createdAt, last_touch: lastTouch, snapshots } = record
  if (typeof workdir !== "string" || typeof createdAt !== "number" || typeof lastTouch !== "number") return undefined
  if (!Array.isArray(snapshots)) return undefined
  const names = snapshots.flatMap((pair: unknown) => {
    const [hash, tree]: readonly unknown[] = Array.isArray(pair) ? pair : []
    return typeof hash === "string" && typeof tree === "string" ? [{ hash, tree }] : []
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

/** Without waiting for the disk: after a power failure an undo step may be missing, but no change had to wait for it. */
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
