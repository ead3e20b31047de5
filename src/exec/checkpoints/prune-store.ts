import { existsSync, lstatSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"

import type { Clock } from "../../base/clock.ts"
import { epochSeconds } from "../../base/clock.ts"
import { withFileLock } from "../../base/file-lock.ts"
import { isNotFound } from "../../base/system-error.ts"
import { gitOutput } from "./git-command.ts"
import {
  cutHistory,
  loadProjects,
  namedRefs,
  refName,
  removeProject,
  renewEpoch,
  saveProject,
  storeExists,
} from "./store-files.ts"
import type { Project, StorePlace } from "./store-files.ts"

export interface PruneOptions {
  readonly retentionDays: number
  readonly maxTotalMb: number
  readonly maxSnapshots: number
  readonly deleteOrphans: boolean
  readonly clock: Clock
  readonly signal: AbortSignal
}

export interface PruneReport {
  readonly snapshots: number
  readonly projects: number
  readonly bytesBefore: number
  readonly bytesAfter: number
}

export interface StoreSizes {
  readonly bytes: number
  readonly projects: readonly ProjectSizes[]
}

export interface ProjectSizes {
  readonly workdir: string
  readonly isGone: boolean
  readonly snapshots: number
  /** Saved under a name. */
  readonly named: number
  readonly lastTouch: number
}

const LOCK_WAIT_MS = 15_000
const DAY_SECONDS = 86_400

/**
 * Removes snapshots that are too old or too many and those of directories that are gone, then the oldest of the largest
 * workspaces until the store is small enough. The newest of each workspace and what was saved under a name stays.
 */
export async function pruneStore(place: StorePlace, options: PruneOptions): Promise<PruneReport> {
  const nothing = { snapshots: 0, projects: 0, bytesBefore: 0, bytesAfter: 0 }
  if (!storeExists(place)) return nothing
  const { signal } = options
  return await withFileLock(place.lockPath, { waitMs: LOCK_WAIT_MS, signal }, async () => {
    const bytesBefore = directoryBytes(place.gitDir)
    renewEpoch(place)
    let removed = { snapshots: 0, projects: 0 }
    for (const project of await loadProjects(place, signal)) {
      removed = sum(removed, await pruneProject(place, project, options))
    }
    await collectGarbage(place, signal)
    removed = sum(removed, await shrink(place, options))
    return { ...removed, bytesBefore, bytesAfter: directoryBytes(place.gitDir) }
  })
}

/** As `pruneStore`, if the last time is long enough ago. */
export async function pruneWhenDue(
  place: StorePlace,
  options: PruneOptions & { readonly minIntervalHours: number },
): Promise<PruneReport | undefined> {
  const marker = join(place.directory, "last_prune")
  const now = epochSeconds(options.clock)
  if (!storeExists(place) || now - lastTime(marker) < options.minIntervalHours * 3600) return undefined
  const report = await pruneStore(place, options)
  writeFileSync(marker, `${Math.floor(now)}\n`, { mode: 0o600 })
  return report
}

export async function storeSizes(place: StorePlace, signal: AbortSignal): Promise<StoreSizes> {
  if (!storeExists(place)) return { bytes: 0, projects: [] }
  const projects: ProjectSizes[] = []
  for (const { id, workdir, snapshots, lastTouch } of await loadProjects(place, signal)) {
    const named = (await namedRefs(place, id, signal)).length
    projects.push({ workdir, isGone: !existsSync(workdir), snapshots: snapshots.length, named, lastTouch })
  }
  return { bytes: directoryBytes(place.gitDir), projects: projects.toSorted((a, b) => b.lastTouch - a.lastTouch) }
}

/** Removes every snapshot. Gives the bytes that were freed. */
export async function clearStore(place: StorePlace, signal: AbortSignal): Promise<number> {
  if (!existsSync(place.gitDir)) return 0
  return await withFileLock(place.lockPath, { waitMs: LOCK_WAIT_MS, signal }, () => {
    const bytes = directoryBytes(place.gitDir)
    rmSync(place.gitDir, { recursive: true, force: true })
    return bytes
  })
}

/** Repositories of an older layout: one for each workspace, directly in the directory. */
export function legacyStores({ directory }: StorePlace): readonly string[] {
  const entries = existsSync(directory) ? readdirSync(directory, { withFileTypes: true }) : []
  return entries
    .filter(
      (entry) => entry.isDirectory() && (/^[0-9a-f]{12,16}$/u.test(entry.name) || entry.name.startsWith("legacy-")),
    )
    .map(({ name }) => join(directory, name))
    .filter((path) => path.includes("/legacy-") || existsSync(join(path, "HEAD")))
}

export function directoryBytes(path: string): number {
  let stats
  try {
    stats = lstatSync(path)
    if (!stats.isDirectory()) return stats.size
    return readdirSync(path).reduce((bytes, name) => bytes + directoryBytes(join(path, name)), 0)
  } catch (error) {
    // Another process may be tidying up.
    if (isNotFound(error)) return 0
    throw error
  }
}

interface Removed {
  readonly snapshots: number
  readonly projects: number
}

function sum(a: Removed, b: Removed): Removed {
  return { snapshots: a.snapshots + b.snapshots, projects: a.projects + b.projects }
}

async function pruneProject(place: StorePlace, project: Project, options: PruneOptions): Promise<Removed> {
  const { signal } = options
  if (options.deleteOrphans && !existsSync(project.workdir)) {
    await dropProject(place, project, signal)
    return { snapshots: project.snapshots.length, projects: 1 }
  }
  const oldest = epochSeconds(options.clock) - options.retentionDays * DAY_SECONDS
  if (project.lastTouch < oldest) {
    const named = await namedRefs(place, project.id, signal)
    if (named.length === 0) await dropProject(place, project, signal)
    else await keepNewest(place, { project, count: 0, signal })
    return { snapshots: project.snapshots.length, projects: named.length === 0 ? 1 : 0 }
  }
  const young = await countSince(place, project, { oldest, signal })
  const count = Math.max(1, Math.min(young, options.maxSnapshots))
  await keepNewest(place, { project, count, signal })
  return { snapshots: Math.max(0, project.snapshots.length - count), projects: 0 }
}

async function countSince(
  place: StorePlace,
  { snapshots }: Project,
  { oldest, signal }: { readonly oldest: number; readonly signal: AbortSignal },
): Promise<number> {
  const head = snapshots.at(-1)?.hash
  if (head === undefined) return 0
  const since = `--since=@${Math.floor(oldest)}`
  const output = await gitOutput(place, ["rev-list", "--count", "--first-parent", since, head], { signal })
  return Number(output.toString("utf8").trim())
}

async function dropProject(place: StorePlace, project: Project, signal: AbortSignal): Promise<void> {
  const first = project.snapshots[0]?.hash
  await removeProject(place, project.id, signal)
  if (first !== undefined) cutHistory(place, { from: [first], to: [] })
}

async function keepNewest(
  place: StorePlace,
  { project, count, signal }: { readonly project: Project; readonly count: number; readonly signal: AbortSignal },
): Promise<void> {
  if (project.snapshots.length <= count) return
  const snapshots = count === 0 ? [] : project.snapshots.slice(-count)
  cutHistory(place, {
    from: project.snapshots.slice(0, 1).map(({ hash }) => hash),
    to: snapshots.slice(0, 1).map(({ hash }) => hash),
  })
  await saveProject(place, { ...project, snapshots }, signal)
}

/** Takes the oldest snapshot of the workspace that is the largest then, until the store is small enough or each has one left. */
async function shrink(place: StorePlace, options: PruneOptions): Promise<Removed> {
  const { signal } = options
  const limit = options.maxTotalMb * 1024 * 1024
  let snapshots = 0
  while (directoryBytes(place.gitDir) > limit) {
    const projects = (await loadProjects(place, signal)).filter((project) => project.snapshots.length > 1)
    const [largest] = await bySize(place, projects, signal)
    if (largest === undefined) break
    await keepNewest(place, { project: largest, count: largest.snapshots.length - 1, signal })
    snapshots += 1
    await collectGarbage(place, signal)
  }
  return { snapshots, projects: 0 }
}

async function bySize(
  place: StorePlace,
  projects: readonly Project[],
  signal: AbortSignal,
): Promise<readonly Project[]> {
  const sized: { readonly project: Project; readonly bytes: number }[] = []
  for (const project of projects) {
    const args = ["rev-list", "--objects", "--disk-usage", refName(project.id)]
    const output = await gitOutput(place, args, { signal })
    sized.push({ project, bytes: Number(output.toString("utf8").trim()) })
  }
  return sized.toSorted((a, b) => b.bytes - a.bytes).map(({ project }) => project)
}

async function collectGarbage(place: StorePlace, signal: AbortSignal): Promise<void> {
  await gitOutput(place, ["gc", "--quiet", "--prune=now"], { signal })
}

function lastTime(marker: string): number {
  try {
    return Number(readFileSync(marker, "utf8")) || 0
  } catch (error) {
    if (isNotFound(error)) return 0
    throw error
  }
}
