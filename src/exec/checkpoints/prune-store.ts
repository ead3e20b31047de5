import { existsSync, lstatSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"

import type { Clock } from "../../base/clock.ts"
import { epochSeconds } from "../../base/clock.ts"
import { withFileLock } from "../../base/file-lock.ts"
import { isNotFound } from "../../base/system-error.ts"
import { gitOutput } from "./git-command.ts"
import {
  moveShallowBoundary,
  loadProjects,
  namedRefs,
  readEpoch,
  refName,
  removeProject,
  renewEpoch,
  saveProject,
  storeExists,
} from "./store-files.ts"
import type { Project, StorePaths } from "./store-files.ts"

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

export interface StoreUsage {
  readonly bytes: number
  readonly projects: readonly ProjectUsage[]
}

export interface ProjectUsage {
  readonly workdir: string
  readonly isDeleted: boolean
  readonly snapshots: number
  /** Number of checkpoints saved under a name. */
  readonly named: number
  readonly lastTouch: number
}

const LOCK_WAIT_MS = 15_000
const DAY_SECONDS = 86_400
/** When pruning failed or took too long for the end of a session. */
const RETRY_SECONDS = 3600

/**
 * Removes snapshots that exceed the age or count limit and those of deleted directories, then the oldest snapshots of the
 * largest workspaces until the store is small enough. The newest snapshot of each workspace and named checkpoints stay.
 */
export async function pruneStore(paths: StorePaths, options: PruneOptions): Promise<PruneReport> {
  const nothing = { snapshots: 0, projects: 0, bytesBefore: 0, bytesAfter: 0 }
  if (!storeExists(paths)) return nothing
  const { signal } = options
  return await withFileLock(paths.lockPath, { waitMs: LOCK_WAIT_MS, signal }, async () => {
    const bytesBefore = directoryBytes(paths.gitDir)
    const epoch = readEpoch(paths)
    const objects = await countObjects(paths, signal)
    // Before anything is removed, because this process may be killed in between.
    renewEpoch(paths)
    let removed = { snapshots: 0, projects: 0 }
    for (const project of await loadProjects(paths, signal)) {
      removed = add(removed, await pruneProject(paths, project, options))
    }
    await collectGarbage(paths, signal)
    removed = add(removed, await shrink(paths, options))
    // Nothing was removed, so the cached scans are still valid. Without them, the next snapshot reads every file again.
    if (epoch !== "" && (await countObjects(paths, signal)) === objects) renewEpoch(paths, epoch)
    return { ...removed, bytesBefore, bytesAfter: directoryBytes(paths.gitDir) }
  })
}

/** Calls `pruneStore` if the last run was at least `minIntervalHours` ago. */
export async function pruneStoreIfDue(
  paths: StorePaths,
  options: PruneOptions & { readonly minIntervalHours: number },
): Promise<PruneReport | undefined> {
  const marker = join(paths.directory, "last_prune")
  const now = epochSeconds(options.clock)
  if (!storeExists(paths) || now - readTimestamp(marker) < options.minIntervalHours * 3600) return undefined
  const write = (time: number): void => {
    writeFileSync(marker, `${Math.floor(time)}\n`, { mode: 0o600 })
  }
  try {
    const report = await pruneStore(paths, options)
    write(now)
    return report
  } catch (error) {
    // Otherwise every session would end with the same wait.
    write(now - options.minIntervalHours * 3600 + RETRY_SECONDS)
    throw error
  }
}

export async function storeUsage(paths: StorePaths, signal: AbortSignal): Promise<StoreUsage> {
  if (!storeExists(paths)) return { bytes: 0, projects: [] }
  const projects: ProjectUsage[] = []
  for (const { id, workdir, snapshots, lastTouch } of await loadProjects(paths, signal)) {
    const named = (await namedRefs(paths, id, signal)).length
    projects.push({ workdir, isDeleted: !existsSync(workdir), snapshots: snapshots.length, named, lastTouch })
  }
  return { bytes: directoryBytes(paths.gitDir), projects: projects.toSorted((a, b) => b.lastTouch - a.lastTouch) }
}

/** Removes every snapshot and returns the number of bytes freed. */
export async function clearStore(paths: StorePaths, signal: AbortSignal): Promise<number> {
  if (!existsSync(paths.gitDir)) return 0
  return await withFileLock(paths.lockPath, { waitMs: LOCK_WAIT_MS, signal }, () => {
    const bytes = directoryBytes(paths.gitDir)
    rmSync(paths.gitDir, { recursive: true, force: true })
    return bytes
  })
}

/** Returns repositories of the older layout, in which the directory held one repository per workspace. */
export function legacyStores({ directory }: StorePaths): readonly string[] {
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
    // Another process may be pruning at the same time.
    if (isNotFound(error)) return 0
    throw error
  }
}

interface RemovedCounts {
  readonly snapshots: number
  readonly projects: number
}

function add(a: RemovedCounts, b: RemovedCounts): RemovedCounts {
  return { snapshots: a.snapshots + b.snapshots, projects: a.projects + b.projects }
}

async function pruneProject(paths: StorePaths, project: Project, options: PruneOptions): Promise<RemovedCounts> {
  const { signal } = options
  if (options.deleteOrphans && !existsSync(project.workdir)) {
    await dropProject(paths, project, signal)
    return { snapshots: project.snapshots.length, projects: 1 }
  }
  const oldest = epochSeconds(options.clock) - options.retentionDays * DAY_SECONDS
  if (project.lastTouch < oldest) {
    const named = await namedRefs(paths, project.id, signal)
    if (named.length === 0) await dropProject(paths, project, signal)
    else await keepNewest(paths, { project, count: 0, signal })
    return { snapshots: project.snapshots.length, projects: named.length === 0 ? 1 : 0 }
  }
  const young = await countSince(paths, project, { oldest, signal })
  const count = Math.max(1, Math.min(young, options.maxSnapshots))
  await keepNewest(paths, { project, count, signal })
  return { snapshots: Math.max(0, project.snapshots.length - count), projects: 0 }
}

async function countSince(
  paths: StorePaths,
  { snapshots }: Project,
  { oldest, signal }: { readonly oldest: number; readonly signal: AbortSignal },
): Promise<number> {
  const head = snapshots.at(-1)?.hash
  if (head === undefined) return 0
  const since = `--since=@${Math.floor(oldest)}`
  const output = await gitOutput(paths, ["rev-list", "--count", "--first-parent", since, head], { signal })
  return Number(output.toString("utf8").trim())
}

async function dropProject(paths: StorePaths, project: Project, signal: AbortSignal): Promise<void> {
  const first = project.snapshots[0]?.hash
  await removeProject(paths, project.id, signal)
  if (first !== undefined) moveShallowBoundary(paths, { from: [first], to: [] })
}

async function keepNewest(
  paths: StorePaths,
  { project, count, signal }: { readonly project: Project; readonly count: number; readonly signal: AbortSignal },
): Promise<void> {
  if (project.snapshots.length <= count) return
  const snapshots = count === 0 ? [] : project.snapshots.slice(-count)
  moveShallowBoundary(paths, {
    from: project.snapshots.slice(0, 1).map(({ hash }) => hash),
    to: snapshots.slice(0, 1).map(({ hash }) => hash),
  })
  await saveProject(paths, { ...project, snapshots }, signal)
}

/** Removes the oldest snapshot of the currently largest workspace until the store is small enough or each has one left. */
async function shrink(paths: StorePaths, options: PruneOptions): Promise<RemovedCounts> {
  const { signal } = options
  const limit = options.maxTotalMb * 1024 * 1024
  let snapshots = 0
  while (directoryBytes(paths.gitDir) > limit) {
    const projects = (await loadProjects(paths, signal)).filter((project) => project.snapshots.length > 1)
    const [largest] = await largestFirst(paths, projects, signal)
    if (largest === undefined) break
    await keepNewest(paths, { project: largest, count: largest.snapshots.length - 1, signal })
    snapshots += 1
    await collectGarbage(paths, signal)
  }
  return { snapshots, projects: 0 }
}

async function largestFirst(
  paths: StorePaths,
  projects: readonly Project[],
  signal: AbortSignal,
): Promise<readonly Project[]> {
  const sized: { readonly project: Project; readonly bytes: number }[] = []
  for (const project of projects) {
    const args = ["rev-list", "--objects", "--disk-usage", refName(project.id)]
    const output = await gitOutput(paths, args, { signal })
    sized.push({ project, bytes: Number(output.toString("utf8").trim()) })
  }
  return sized.toSorted((a, b) => b.bytes - a.bytes).map(({ project }) => project)
}

async function collectGarbage(paths: StorePaths, signal: AbortSignal): Promise<void> {
  await gitOutput(paths, ["gc", "--quiet", "--prune=now"], { signal })
}

async function countObjects(paths: StorePaths, signal: AbortSignal): Promise<number> {
  const args = ["cat-file", "--batch-all-objects", "--batch-check=%(objectname)", "--unordered"]
  return (await gitOutput(paths, args, { signal })).toString("latin1").split("\n").length
}

function readTimestamp(marker: string): number {
  try {
    return Number(readFileSync(marker, "utf8")) || 0
  } catch (error) {
    if (isNotFound(error)) return 0
    throw error
  }
}
