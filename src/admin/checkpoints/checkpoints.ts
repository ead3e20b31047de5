import { rmSync } from "node:fs"
import { resolve } from "node:path"

import { ok, type Result } from "../../base/result.ts"
import { checkpointSettings, type CheckpointSettings } from "../../exec/checkpoints/checkpoint-settings.ts"
import { projectRoot, statIfPossible } from "../../exec/checkpoints/project-root.ts"
import { clearStore, directoryBytes, legacyStores, pruneStore } from "../../exec/checkpoints/prune-store.ts"
import { storeUsage, type PruneReport, type StoreUsage } from "../../exec/checkpoints/prune-store.ts"
import { createShadowStore } from "../../exec/checkpoints/shadow-store.ts"
import type { RestoreOutcome, ShadowStore, SnapshotDiff } from "../../exec/checkpoints/shadow-store.ts"
import type { Snapshot } from "../../exec/checkpoints/snapshot-list.ts"
import { failed, invalid, type AdminFailure } from "../failure.ts"
import type { HomeContext } from "../home-context.ts"
import { loadSettings } from "../settings/load-settings.ts"

/** The project that contains `directory`; its snapshots are listed, compared and restored. */
export function checkpointRoot({ home }: Pick<HomeContext, "home">, directory: string): Result<string, AdminFailure> {
  const path = resolve(directory)
  const found = statIfPossible(path)
  if (found === undefined) return invalid(`The directory ${home.display(path)} does not exist.`)
  if (!found.isDirectory()) return invalid(`${home.display(path)} is not a directory.`)
  return ok(projectRoot(path, home.userHome))
}

/** The newest snapshots of a project, newest first. */
export async function listCheckpoints(
  context: HomeContext,
  root: string,
  options: { readonly limit: number; readonly signal: AbortSignal },
): Promise<readonly Snapshot[]> {
  const { store } = await openStore(context)
  return await store.list(root, options)
}

export interface CheckpointSelection {
  /** Hash of the snapshot, or at least the first four digits. */
  readonly hash: string
  /** One path below the root instead of the whole project. */
  readonly file: string | undefined
  readonly signal: AbortSignal
}

/** What changed in the project since a snapshot. */
export async function diffCheckpoint(
  context: HomeContext,
  root: string,
  { hash, ...options }: CheckpointSelection,
): Promise<Result<SnapshotDiff, AdminFailure>> {
  const { store } = await openStore(context)
  try {
    return asAdminResult(await store.diff(root, hash, options))
  } finally {
    await store.close()
  }
}

/** Restores the project, or one file, after taking a snapshot of its current state. */
export async function restoreCheckpoint(
  context: HomeContext,
  root: string,
  { hash, ...options }: CheckpointSelection,
): Promise<Result<RestoreOutcome, AdminFailure>> {
  const { store } = await openStore(context)
  try {
    return asAdminResult(await store.restore(root, hash, options))
  } finally {
    await store.close()
  }
}

export interface CheckpointStatus extends StoreUsage {
  readonly enabled: boolean
  /** Path of the repository that holds the snapshots. */
  readonly path: string
  readonly maxTotalMb: number
}

export async function checkpointStatus(context: HomeContext, signal: AbortSignal): Promise<CheckpointStatus> {
  const { store, settings } = await openStore(context)
  const { enabled, maxTotalMb } = settings
  return { ...(await storeUsage(store.paths, signal)), enabled, maxTotalMb, path: store.paths.gitDir }
}

export interface PruneCheckpointsOptions {
  /** The setting `checkpoints.retention_days` when undefined. */
  readonly retentionDays: number | undefined
  /** The setting `checkpoints.max_total_size_mb` when undefined. */
  readonly maxTotalMb: number | undefined
  /** Also removes the snapshots of directories that no longer exist. */
  readonly deleteOrphans: boolean
  readonly signal: AbortSignal
}

export async function pruneCheckpoints(context: HomeContext, options: PruneCheckpointsOptions): Promise<PruneReport> {
  const { store, settings } = await openStore(context)
  return await pruneStore(store.paths, {
    retentionDays: options.retentionDays ?? settings.retentionDays,
    maxTotalMb: options.maxTotalMb ?? settings.maxTotalMb,
    maxSnapshots: settings.maxSnapshots,
    deleteOrphans: options.deleteOrphans,
    clock: context.clock,
    signal: options.signal,
  })
}

/** Removes every snapshot of every project. Returns the number of freed bytes. */
export async function clearCheckpoints(context: HomeContext, signal: AbortSignal): Promise<number> {
  const { store } = await openStore(context)
  return await clearStore(store.paths, signal)
}

export interface LegacyCheckpoints {
  readonly paths: readonly string[]
  readonly bytes: number
}

/** Finds snapshot repositories of an older layout, one directory for each project. */
export async function findLegacyCheckpoints(context: HomeContext): Promise<LegacyCheckpoints> {
  const { store } = await openStore(context)
  const paths = legacyStores(store.paths)
  return { paths, bytes: paths.reduce((sum, path) => sum + directoryBytes(path), 0) }
}

export function removeLegacyCheckpoints({ paths }: LegacyCheckpoints): void {
  for (const path of paths) rmSync(path, { recursive: true, force: true })
}

async function openStore(
  context: HomeContext,
): Promise<{ readonly store: ShadowStore; readonly settings: CheckpointSettings }> {
  const { home, environment, clock } = context
  const { config } = await loadSettings(context)
  const settings = checkpointSettings(config)
  const path = environment.get("PATH") ?? ""
  return { settings, store: createShadowStore({ home: home.path, path, ...settings, clock }) }
}

function asAdminResult<T>(result: Result<T>): Result<T, AdminFailure> {
  return result.ok ? result : failed(result.error)
}
