import { join, resolve } from "node:path"

import { isAbort } from "../../base/abort.ts"
import type { Clock } from "../../base/clock.ts"
import { isInside } from "../../base/is-inside.ts"
import type { Logger } from "../../base/logger.ts"
import { fail } from "../../base/result.ts"
import type { Result } from "../../base/result.ts"
import { errorMessage } from "../../base/system-error.ts"
import type { CheckpointSettings } from "./checkpoint-settings.ts"
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
   * Call it before a tool call that may change files. Takes a snapshot of the affected projects, once per turn. Never rejects:
   * failures are logged, and the tool call proceeds.
   */
  beforeChange(change: Change): Promise<void>
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
  const savedThisTurn = new Set<string>()
  const unsupported = new Set<string>()
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
    clock,
    ...(options.conversation === undefined ? {} : { conversation: options.conversation }),
  })

  const save = async (directory: string, { reason, signal }: Change): Promise<void> => {
    if (savedThisTurn.has(directory) || unsupported.has(directory)) return
    savedThisTurn.add(directory)
    const obstacle = unsupportedRootReason(directory, { userHome, home })
    if (obstacle !== undefined) {
      unsupported.add(directory)
      log.info(`no checkpoint of ${directory}: ${obstacle}`)
      return
    }
    const limit = AbortSignal.any([signal, AbortSignal.timeout(SNAPSHOT_TIMEOUT_MS)])
    try {
      const taken = await store.snapshot(directory, { reason, turn, session: options.sessionId() }, limit)
      if (taken.created && directory !== initialRoot) others.add(directory)
      log.debug(`checkpoint ${taken.hash} of ${directory}${taken.created ? "" : " (unchanged)"}`)
    } catch (error) {
      // The user interrupted the call; a later call of the turn may still need the snapshot.
      if (signal.aborted) savedThisTurn.delete(directory)
      // These failures would repeat and slow down every turn.
      else if (limit.aborted || error instanceof TooManyFilesError || error instanceof GitMissingError)
        unsupported.add(directory)
      log.warning(`no checkpoint of ${directory}: ${errorMessage(error)}`)
    }
  }

  return {
    beginTurn: (turnId) => {
      turn = turnId
      savedThisTurn.clear()
    },
    beforeChange: async (change) => {
      if (!settings.enabled) return
      for (const directory of affectedRoots(change, { root: currentRoot(), workdir: options.workdir(), userHome })) {
        await save(directory, change)
      }
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

/** Assigns a file inside the current project to that project even if a nested project is nearer; others to their own project. */
function affectedRoots(
  { paths, cwd }: Change,
  session: { readonly root: string; readonly workdir: string; readonly userHome: string },
): ReadonlySet<string> {
  const absolute = (paths ?? [cwd ?? session.workdir]).map((path) =>
    path === "~" || path.startsWith("~/") ? join(session.userHome, path.slice(1)) : resolve(session.workdir, path),
  )
  return new Set(
    absolute.map((path) =>
      isInside(nearestExistingDirectory(path), session.root) ? session.root : projectRoot(path, session.userHome),
    ),
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
