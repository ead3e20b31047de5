import { join, resolve } from "node:path"

import { isAbort } from "../../base/abort.ts"
import type { Clock } from "../../base/clock.ts"
import { isInside } from "../../base/is-inside.ts"
import type { Logger } from "../../base/logger.ts"
import { fail } from "../../base/result.ts"
import type { Result } from "../../base/result.ts"
import { errorMessage } from "../../base/system-error.ts"
import { realPath } from "../../base/real-path.ts"
import type { CheckpointSettings } from "./checkpoint-settings.ts"
import type { FileSnapshot } from "./file-snapshots.ts"
import { GitMissingError } from "./git-command.ts"
import { createNamedCheckpoints } from "./named-checkpoints.ts"
import type { ConversationAccess, NamedCheckpoints } from "./named-checkpoints.ts"
import { projectRoot, nearestExistingDirectory, unsupportedRootReason } from "./project-root.ts"
import { pruneStoreIfDue } from "./prune-store.ts"
import { createShadowStore } from "./shadow-store.ts"
import type { SnapshotDiff, RestoreOutcome, ShadowStore } from "./shadow-store.ts"
import type { Snapshot } from "./snapshot-list.ts"
import { TooManyFilesError } from "./workspace-scan.ts"

/** The checkpoints of one session, to undo its file changes. Covers local workspaces only, not containers or remote machines. */
export interface Checkpoints {
  /** Call it with each user message; each turn takes at most one snapshot of each project. */
  beginTurn(turnId: string): void
  /**
   * Call it before a tool call that may change files. Takes a snapshot of the affected projects, once per turn; calls that run in
   * parallel wait for the same one. Never rejects. Returns what this call cannot undo, also when an earlier call of the turn found out.
   */
  beforeChange(change: Change): Promise<readonly SnapshotProblem[]>
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
  /** Removes old snapshots if the last pruning was long enough ago; call it at the end of a session. */
  pruneIfDue(signal: AbortSignal): Promise<void>
  close(): void
}

/** Why a call cannot be undone, or not completely. */
export interface SnapshotProblem {
  /** `failed`: a snapshot should have worked. `too-many-files`, `unsupported`: Hermes takes none of this directory. `incomplete`: parts of it are missing. */
  readonly kind: "failed" | "too-many-files" | "unsupported" | "incomplete"
  readonly directory: string
  /** A clause for the user. */
  readonly reason: string
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
}

const SNAPSHOT_TIMEOUT_MS = 30_000

export function createCheckpoints(options: CheckpointsOptions): Checkpoints {
  const { home, userHome, settings, clock, log } = options
  const store = createShadowStore({ home, path: options.path, ...settings, clock })
  const savedThisTurn = new Map<string, Promise<SnapshotProblem | undefined>>()
  const filesThisTurn = new Map<string, FileSnapshot>()
  let savingFiles = Promise.resolve()
  /** Problems that would repeat and slow down every turn. */
  const lasting = new Map<string, SnapshotProblem>()
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

  const takeSnapshot = async (directory: string, { reason, signal }: Change): Promise<SnapshotProblem | undefined> => {
    const obstacle = unsupportedRootReason(directory, { userHome, home })
    if (obstacle !== undefined) {
      log.info(`no checkpoint of ${directory}: ${obstacle}`)
      return remember({ kind: "unsupported", directory, reason: obstacle })
    }
    const limit = AbortSignal.any([signal, AbortSignal.timeout(SNAPSHOT_TIMEOUT_MS)])
    try {
      const why = { reason, turn, session: options.sessionId(), message: options.messageTimestamp?.() }
      const taken = await store.snapshot(directory, why, limit)
      if (taken.created && directory !== initialRoot) others.add(directory)
      log.debug(`checkpoint ${taken.hash} of ${directory}${taken.created ? "" : " (unchanged)"}`)
      return unreadableProblem(directory, taken.unreadable)
    } catch (error) {
      // The user interrupted the call; a later call of the turn may still need the snapshot.
      if (signal.aborted) {
        savedThisTurn.delete(directory)
        return undefined
      }
      const why = limit.aborted ? `it took longer than ${SNAPSHOT_TIMEOUT_MS / 1000} seconds` : errorMessage(error)
      log.warning(`no checkpoint of ${directory}: ${why}`)
      if (error instanceof TooManyFilesError) return remember({ kind: "too-many-files", directory, reason: why })
      const problem: SnapshotProblem = { kind: "failed", directory, reason: why }
      return limit.aborted || error instanceof GitMissingError ? remember(problem) : problem
    }
  }
  const remember = (problem: SnapshotProblem): SnapshotProblem => {
    lasting.set(problem.directory, problem)
    return problem
  }
  /** Where no complete snapshot is possible, the files that the call names are saved all the same. */
  const saveFiles = async (directory: string, files: readonly string[], change: Change): Promise<boolean> => {
    // One after the other: each extends the snapshot of the one before.
    const running = savingFiles.then(() => saveFilesNow(directory, files, change))
    savingFiles = running.then(ignore, ignore)
    return await running
  }
  const saveFilesNow = async (directory: string, files: readonly string[], change: Change): Promise<boolean> => {
    const { reason, signal } = change
    const why = { reason, turn, session: options.sessionId(), message: options.messageTimestamp?.() }
    const covered = files.filter((file) => !isInside(realPath(file), realPath(home)))
    const saved = await store.snapshotFiles(directory, {
      files: covered,
      why,
      extend: filesThisTurn.get(directory),
      signal: AbortSignal.any([signal, AbortSignal.timeout(SNAPSHOT_TIMEOUT_MS)]),
    })
    if (saved === undefined) return filesThisTurn.has(directory)
    filesThisTurn.set(directory, saved)
    if (directory !== initialRoot) others.add(directory)
    return true
  }
  /** What this call cannot undo in one of the directories that it affects. */
  const protect = async (
    directory: string,
    files: readonly string[],
    change: Change,
  ): Promise<SnapshotProblem | undefined> => {
    const problem = await saveOnce(directory, change)
    if (problem?.kind !== "too-many-files" && problem?.kind !== "unsupported") return problem
    if (files.length === 0) return problem
    try {
      const isSaved = await saveFiles(directory, files, change)
      return isSaved && problem.kind === "unsupported" ? undefined : problem
    } catch (error) {
      if (change.signal.aborted) return undefined
      log.warning(`no checkpoint of ${files.join(", ")}: ${errorMessage(error)}`)
      return { kind: "failed", directory, reason: errorMessage(error) }
    }
  }
  const saveOnce = async (directory: string, change: Change): Promise<SnapshotProblem | undefined> => {
    const known = lasting.get(directory)
    if (known !== undefined) return known
    const running = savedThisTurn.get(directory) ?? takeSnapshot(directory, change)
    savedThisTurn.set(directory, running)
    return await running
  }

  return {
    beginTurn: (turnId) => {
      turn = turnId
      savedThisTurn.clear()
      filesThisTurn.clear()
    },
    beforeChange: async (change) => {
      if (!settings.enabled) return []
      const problems: SnapshotProblem[] = []
      const session = { root: currentRoot(), workdir: options.workdir(), userHome }
      for (const [directory, files] of affectedRoots(change, session)) {
        const problem = await protect(directory, change.paths === undefined ? [] : files, change)
        if (problem !== undefined) problems.push(problem)
      }
      return problems
    },
    root,
    otherRoots: () => [...others].filter((directory) => directory !== root()),
    list: (request) => store.list(root(), request),
    diff: (hash, request) => guarded(() => store.diff(root(), hash, request)),
    restore: (hash, request) => guarded(() => store.restore(root(), hash, request)),
    named: {
      ...named,
      save: (name, request) => guarded(() => named.save(name, request)),
      diff: (name, signal) => guarded(() => named.diff(name, signal)),
      restore: (name, request) => guarded(() => named.restore(name, request)),
      delete: (name, signal) => guarded(() => named.delete(name, signal)),
    },
    pruneIfDue: (signal) => prune(store, { ...options, signal }),
    close: () => {
      try {
        store.close()
      } catch (error) {
        log.warning(`cannot write the scan cache of the workspace: ${errorMessage(error)}`)
      }
    },
  }
}

function ignore(): void {
  // The caller of the failed save reports it.
}

const MAX_SHOWN_PATHS = 5

function unreadableProblem(directory: string, paths: readonly string[]): SnapshotProblem | undefined {
  if (paths.length === 0) return undefined
  const rest = paths.length > MAX_SHOWN_PATHS ? ` and ${paths.length - MAX_SHOWN_PATHS} more` : ""
  const reason = `these paths cannot be read: ${paths.slice(0, MAX_SHOWN_PATHS).join(", ")}${rest}`
  return { kind: "incomplete", directory, reason }
}

/** Groups paths by project. A file inside the current project belongs to it even if a nested project is nearer. */
function affectedRoots(
  { paths, cwd }: Change,
  session: { readonly root: string; readonly workdir: string; readonly userHome: string },
): ReadonlyMap<string, readonly string[]> {
  const absolute = (paths ?? [cwd ?? session.workdir]).map((path) =>
    path === "~" || path.startsWith("~/") ? join(session.userHome, path.slice(1)) : resolve(session.workdir, path),
  )
  return Map.groupBy(absolute, (path) =>
    isInside(nearestExistingDirectory(path), session.root) ? session.root : projectRoot(path, session.userHome),
  )
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
