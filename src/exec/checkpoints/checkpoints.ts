import { lstatSync } from "node:fs"
import { dirname, join, resolve } from "node:path"

import { isAbort, orAborted } from "../../base/abort.ts"
import type { Clock } from "../../base/clock.ts"
import { isInside } from "../../base/is-inside.ts"
import type { Logger } from "../../base/logger.ts"
import { fail } from "../../base/result.ts"
import type { Result } from "../../base/result.ts"
import { errorMessage } from "../../base/system-error.ts"
import type { CheckpointSettings } from "./checkpoint-settings.ts"
import { createNamedCheckpoints } from "./named-checkpoints.ts"
import type { ConversationAccess, NamedCheckpoints } from "./named-checkpoints.ts"
import { projectRoot, nearestExistingDirectory, unsupportedRootReason } from "./project-root.ts"
import { pruneStoreIfDue } from "./prune-store.ts"
import { createShadowStore } from "./shadow-store.ts"
import type { SnapshotDiff, RestoreOutcome, ShadowStore } from "./shadow-store.ts"
import type { Snapshot, SnapshotReason } from "./snapshot-list.ts"
import { createTurnSnapshots } from "./turn-snapshots.ts"
import type { SnapshotProblem } from "./turn-snapshots.ts"

/** The checkpoints of one session, to undo its file changes. Covers local workspaces only, not containers or remote machines. */
export interface Checkpoints {
  /** Call it with each user message; each turn takes at most one snapshot of each project. */
  beginTurn(turnId: string): void
  /**
   * Call it before a tool call that may change files. Takes a snapshot of the affected projects, once per turn; calls that run in
   * parallel share it. A command waits for it; in a large project, a call that names its files waits only for those to be saved.
   * Never rejects. Returns what this call cannot undo, also when an earlier call of the turn found out.
   */
  beforeChange(change: Change): Promise<readonly SnapshotProblem[]>
  /** Scans the current project in advance if it is large, so that the first command need not wait for that. Never rejects. */
  prepare(): Promise<void>
  /** The project that `list`, `diff` and `restore` work on: the one that the session began in, if it supports checkpoints. */
  root(): string
  /** Other projects of which this session took snapshots. */
  otherRoots(): readonly string[]
  list(options: { readonly limit?: number; readonly signal: AbortSignal }): Promise<readonly Snapshot[]>
  diff(hash: string, options: { readonly file?: string; readonly signal: AbortSignal }): Promise<Result<SnapshotDiff>>
  restore(
    hash: string,
    options: { readonly file?: string; readonly signal: AbortSignal },
  ): Promise<Result<RestoreOutcome>>
  readonly named: NamedCheckpoints
  /** Ends running snapshots, and removes old ones if the last pruning was long enough ago, until the signal aborts. */
  close(signal: AbortSignal): Promise<void>
}

export interface Change {
  /** Files that will be written. Absent for a command, which may change anything in the project of its working directory. */
  readonly paths?: readonly string[]
  /** Directory that a command runs in, if not the session's working directory. */
  readonly cwd?: string
  /** Short text for the list: the tool, and the file or command. */
  readonly reason: string
  readonly signal: AbortSignal
}

export interface CheckpointsOptions {
  /** The Hermes home. */
  readonly home: string
  readonly userHome: string
  /** The working directory at the start of the session. */
  readonly initialDirectory: string
  /** The current working directory of the session. */
  readonly workdir: () => string
  readonly sessionId: () => string
  /** The sessions that this conversation had before its compressions. */
  readonly earlierSessionIds?: () => readonly string[]
  /** Timestamp of the user message that began the running turn, to find it again when its snapshot is restored. */
  readonly messageTimestamp?: () => number | undefined
  /** Value of the PATH variable, to find git. */
  readonly path: string
  readonly settings: CheckpointSettings
  readonly clock: Clock
  readonly log: Logger
  readonly conversation?: ConversationAccess
  /** Called with the absolute paths that a restore has written or removed. */
  readonly restored?: (paths: readonly string[]) => void
  /** See `TurnSnapshotsOptions`. */
  readonly patienceMs?: number
}

export function createCheckpoints(options: CheckpointsOptions): Checkpoints {
  const { home, userHome, settings, clock, log } = options
  const store = createShadowStore({ home, path: options.path, ...settings, clock })
  let turn: string | undefined
  const currentRoot = (): string => projectRoot(options.workdir(), userHome)
  const initialRoot = projectRoot(options.initialDirectory, userHome)
  const others = new Set<string>()
  /** Stays at the initial project when the shell changes directory, unless that project does not support checkpoints. */
  const root = (): string =>
    unsupportedRootReason(initialRoot, { userHome, home }) === undefined
      ? initialRoot
      : ([...others].at(-1) ?? currentRoot())
  const named = createNamedCheckpoints({
    store,
    root,
    sessionId: options.sessionId,
    earlierSessionIds: options.earlierSessionIds,
    clock,
    ...(options.conversation === undefined ? {} : { conversation: options.conversation }),
  })

  const snapshots = createTurnSnapshots({
    store,
    home,
    userHome,
    log,
    onStored: (directory) => {
      if (directory !== initialRoot) others.add(directory)
    },
    ...(options.patienceMs === undefined ? {} : { patienceMs: options.patienceMs }),
  })
  /** Found by a walk through the history, therefore once for each turn. */
  let messageOfTurn: { readonly timestamp: number | undefined } | undefined
  const whyOf = (reason: string): SnapshotReason => {
    messageOfTurn ??= { timestamp: options.messageTimestamp?.() }
    return { reason, turn, session: options.sessionId(), message: messageOfTurn.timestamp }
  }
  /** A running snapshot is about to replace entries of the list. */
  const afterSnapshots = async <T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> => {
    await orAborted(snapshots.finished(), signal)
    signal.throwIfAborted()
    return await work()
  }
  const reported = <T extends RestoreOutcome>(result: Result<T>): Result<T> => {
    if (result.ok)
      options.restored?.([...result.value.written, ...result.value.removed].map((path) => join(root(), path)))
    return result
  }

  return {
    beginTurn: (turnId) => {
      turn = turnId
      messageOfTurn = undefined
      snapshots.beginTurn()
    },
    beforeChange: async ({ paths, cwd, reason, signal }) => {
      if (!settings.enabled) return []
      const problems: SnapshotProblem[] = []
      const session = { root: currentRoot(), workdir: options.workdir(), userHome }
      const why = whyOf(reason)
      for (const [directory, files] of affectedRoots(paths ?? [cwd ?? session.workdir], session)) {
        const problem = await snapshots.protect(directory, { files: paths === undefined ? [] : files, why, signal })
        if (problem !== undefined) problems.push(problem)
      }
      return problems
    },
    prepare: async () => {
      if (settings.enabled) await snapshots.prepare(currentRoot())
    },
    root,
    otherRoots: () => [...others].filter((directory) => directory !== root()),
    list: (request) => afterSnapshots(request.signal, () => store.list(root(), request)),
    diff: (hash, request) => guarded(() => afterSnapshots(request.signal, () => store.diff(root(), hash, request))),
    restore: async (hash, request) =>
      reported(await guarded(() => afterSnapshots(request.signal, () => store.restore(root(), hash, request)))),
    named: {
      ...named,
      save: (name, request) => guarded(() => named.save(name, request)),
      diff: (name, signal) => guarded(() => named.diff(name, signal)),
      restore: async (name, request) =>
        reported(await guarded(() => afterSnapshots(request.signal, () => named.restore(name, request)))),
      delete: (name, signal) => guarded(() => named.delete(name, signal)),
    },
    close: async (signal) => {
      await snapshots.close()
      await prune(store, { ...options, signal })
      try {
        await store.close()
      } catch (error) {
        log.warning(`cannot write the scan cache of the workspace: ${errorMessage(error)}`)
      }
    },
  }
}

/** Groups paths by project. A file inside the current project belongs to it even if a nested project is nearer. */
function affectedRoots(
  paths: readonly string[],
  session: { readonly root: string; readonly workdir: string; readonly userHome: string },
): ReadonlyMap<string, readonly string[]> {
  const absolute = paths.map((path) =>
    path === "~" || path.startsWith("~/") ? join(session.userHome, path.slice(1)) : resolve(session.workdir, path),
  )
  const located = absolute.flatMap((path) => [
    { path, root: rootOf(path, session) },
    // The link itself may be in another project than the file that it points to.
    ...(isLink(path) ? [{ path, root: rootOf(dirname(path), session) }] : []),
  ])
  const groups = Map.groupBy(located, ({ root }) => root)
  return new Map([...groups].map(([root, entries]) => [root, [...new Set(entries.map(({ path }) => path))]]))
}

function rootOf(path: string, session: { readonly root: string; readonly userHome: string }): string {
  return isInside(nearestExistingDirectory(path), session.root) ? session.root : projectRoot(path, session.userHome)
}

function isLink(path: string): boolean {
  try {
    return lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true
  } catch {
    // The tool that uses the path reports the error.
    return false
  }
}

/** Turns errors of the store into failures that can be shown to the user and the model. */
async function guarded<T>(work: () => Promise<Result<T>>): Promise<Result<T>> {
  try {
    return await work()
  } catch (error) {
    return fail(isAbort(error) ? "interrupted before it finished" : errorMessage(error))
  }
}

async function prune(
  { paths }: ShadowStore,
  { settings, clock, log, signal }: CheckpointsOptions & { readonly signal: AbortSignal },
): Promise<void> {
  if (!settings.autoPrune) return
  try {
    const report = await pruneStoreIfDue(paths, { ...settings, clock, signal })
    if (report !== undefined) log.info(`pruned ${report.snapshots} old snapshots`)
  } catch (error) {
    if (!signal.aborted) log.warning(`cannot prune old snapshots: ${errorMessage(error)}`)
  }
}
