import { isInside } from "../../base/is-inside.ts"
import { counted } from "../../base/counted.ts"
import { orAborted } from "../../base/abort.ts"
import type { Logger } from "../../base/logger.ts"
import { realPath } from "../../base/real-path.ts"
import { errorMessage } from "../../base/system-error.ts"
import type { FileSnapshot } from "./file-snapshots.ts"
import { GitMissingError } from "./git-command.ts"
import { unsupportedRootReason } from "./project-root.ts"
import type { ShadowStore } from "./shadow-store.ts"
import type { SnapshotReason } from "./snapshot-list.ts"
import { TooManyFilesError } from "./workspace-scan.ts"

/** Why a call cannot be undone, or not completely. */
export interface SnapshotProblem {
  /** `failed`: a snapshot should have worked. `too-many-files`, `unsupported`: Hermes takes none of this directory. `incomplete`: parts of it are missing. */
  readonly kind: "failed" | "too-many-files" | "unsupported" | "incomplete"
  readonly directory: string
  /** A clause for the user. */
  readonly reason: string
}

/** The snapshots of the running turn, one for each directory. */
export interface TurnSnapshots {
  beginTurn(): void
  /**
   * Resolves when the call may change the directory. A call that names its files waits for them to be saved, not for the whole
   * directory: a scan that takes longer continues while the call runs. Never rejects. Returns what the call cannot undo.
   */
  protect(directory: string, call: ProtectedCall): Promise<SnapshotProblem | undefined>
  /** Scans a large directory in advance. Never rejects. */
  prepare(directory: string): Promise<void>
  /** Resolves when no snapshot is running. */
  finished(): Promise<void>
  /** Waits a moment for running snapshots, then aborts them. The files that the turn has changed are saved in any case. */
  close(): Promise<void>
}

export interface ProtectedCall {
  /** Files that the call will write; empty for a command, which may change anything. */
  readonly files: readonly string[]
  readonly why: SnapshotReason
  readonly signal: AbortSignal
}

export interface TurnSnapshotsOptions {
  readonly store: ShadowStore
  /** The Hermes home. */
  readonly home: string
  readonly userHome: string
  readonly log: Logger
  /** Called when a snapshot of the directory has been stored. */
  readonly onStored: (directory: string) => void
  /** How long a call that names its files waits for the complete snapshot. Tests set it. */
  readonly patienceMs?: number
}

/** In most projects the scan takes less time than this, and saving the files separately would be wasted. */
const PATIENCE_MS = 25
const SNAPSHOT_TIMEOUT_MS = 30_000
const CLOSE_WAIT_MS = 2000

/** A complete snapshot that may still be running. */
interface DirectorySnapshot {
  readonly progress: SnapshotProgress
  /** Never rejects. */
  readonly result: Promise<SnapshotProblem | undefined>
}

interface SnapshotProgress {
  isFinished: boolean
  /** The files that calls have changed since it started, as they were before. */
  files: FileSnapshot | undefined
  /** The last call of `saveFiles`: each one extends the snapshot of the one before. */
  saving: Promise<unknown>
}

export function createTurnSnapshots(options: TurnSnapshotsOptions): TurnSnapshots {
  const { store, home, userHome, log } = options
  const patienceMs = options.patienceMs ?? PATIENCE_MS
  const thisTurn = new Map<string, DirectorySnapshot>()
  /** The newest snapshot of each directory, of this turn or an earlier one. */
  const newest = new Map<string, DirectorySnapshot>()
  /** Problems that would repeat and slow down every turn. */
  const lasting = new Map<string, SnapshotProblem>()
  const closing = new AbortController()
  let preparing: Promise<void> | undefined

  const remember = (problem: SnapshotProblem): SnapshotProblem => {
    lasting.set(problem.directory, problem)
    return problem
  }
  const start = (directory: string, why: SnapshotReason): DirectorySnapshot => {
    const progress: SnapshotProgress = { isFinished: false, files: undefined, saving: Promise.resolve() }
    return { progress, result: take(directory, { why, progress }) }
  }
  const take = async (
    directory: string,
    { why, progress }: { readonly why: SnapshotReason; readonly progress: SnapshotProgress },
  ): Promise<SnapshotProblem | undefined> => {
    try {
      return lasting.get(directory) ?? (await takeUnlessUnsupported(directory, { why, progress }))
    } finally {
      progress.isFinished = true
    }
  }
  const takeUnlessUnsupported = async (
    directory: string,
    { why, progress }: { readonly why: SnapshotReason; readonly progress: SnapshotProgress },
  ): Promise<SnapshotProblem | undefined> => {
    const obstacle = unsupportedRootReason(directory, { userHome, home })
    if (obstacle !== undefined) {
      log.info(`no checkpoint of ${directory}: ${obstacle}`)
      return remember({ kind: "unsupported", directory, reason: obstacle })
    }
    const limit = AbortSignal.any([closing.signal, AbortSignal.timeout(SNAPSHOT_TIMEOUT_MS)])
    try {
      const taken = await store.snapshot(directory, why, limit, () => progress.files)
      if (taken.created) options.onStored(directory)
      log.debug(`checkpoint ${taken.hash} of ${directory}${taken.created ? "" : " (unchanged)"}`)
      progress.isFinished = true
      await dropSavedFiles(directory, progress)
      return unreadableProblem(directory, taken.unreadable)
    } catch (error) {
      if (closing.signal.aborted) return { kind: "failed", directory, reason: "the session ended" }
      const reason = limit.aborted ? `it took longer than ${SNAPSHOT_TIMEOUT_MS / 1000} seconds` : errorMessage(error)
      log.warning(`no checkpoint of ${directory}: ${reason}`)
      if (error instanceof TooManyFilesError) return remember({ kind: "too-many-files", directory, reason })
      const problem: SnapshotProblem = { kind: "failed", directory, reason }
      return limit.aborted || error instanceof GitMissingError ? remember(problem) : problem
    }
  }
  /** The complete snapshot contains them. A failure only leaves a superfluous entry in the list. */
  const dropSavedFiles = async (directory: string, progress: SnapshotProgress): Promise<void> => {
    await progress.saving
    const { files } = progress
    if (files === undefined) return
    try {
      await store.dropFiles(directory, files, AbortSignal.timeout(SNAPSHOT_TIMEOUT_MS))
    } catch (error) {
      log.warning(`cannot remove the superfluous checkpoint ${files.hash}: ${errorMessage(error)}`)
    }
  }
  const saveFiles = async (
    directory: string,
    progress: SnapshotProgress,
    { files, why, signal }: ProtectedCall,
  ): Promise<void> => {
    const saved = await store.snapshotFiles(directory, {
      files: files.filter((file) => !isInside(realPath(file), realPath(home))),
      why,
      extend: progress.files,
      signal: AbortSignal.any([signal, AbortSignal.timeout(SNAPSHOT_TIMEOUT_MS)]),
    })
    if (saved === undefined) return
    progress.files = saved
    options.onStored(directory)
  }
  const saveFilesInTurn = async (directory: string, progress: SnapshotProgress, call: ProtectedCall): Promise<void> => {
    const saving = progress.saving.then(() => saveFiles(directory, progress, call))
    // The caller of a failed save reports it.
    progress.saving = saving.catch(() => undefined)
    await saving
  }
  /** For a call that names its files. */
  const protectFiles = async (
    directory: string,
    { progress, result }: DirectorySnapshot,
    call: ProtectedCall,
  ): Promise<SnapshotProblem | undefined> => {
    await orAborted(result, AbortSignal.any([call.signal, AbortSignal.timeout(patienceMs)]))
    const wasFinished = progress.isFinished
    const problem = wasFinished ? await result : undefined
    if (wasFinished && (problem === undefined || problem.kind === "incomplete")) return problem
    try {
      await saveFilesInTurn(directory, progress, call)
      return problem?.kind === "too-many-files" || progress.files === undefined ? problem : undefined
    } catch (error) {
      if (call.signal.aborted) return undefined
      if (!wasFinished) return await orAborted(result, call.signal)
      log.warning(`no checkpoint of ${counted(call.files.length, "file")} in ${directory}: ${errorMessage(error)}`)
      return { kind: "failed", directory, reason: problem?.kind === "failed" ? problem.reason : errorMessage(error) }
    }
  }
  const finished = async (): Promise<void> => {
    await Promise.all([...newest.values()].map(({ result }) => result))
  }
  return {
    beginTurn: () => {
      thisTurn.clear()
    },
    protect: async (directory, call) => {
      if (call.signal.aborted) return undefined
      let snapshot = thisTurn.get(directory)
      if (snapshot === undefined) {
        // What this turn changes must not become part of the snapshot of an earlier one.
        const earlier = newest.get(directory)
        if (earlier?.progress.isFinished === false) await orAborted(earlier.result, call.signal)
        if (call.signal.aborted) return undefined
        snapshot = thisTurn.get(directory) ?? start(directory, call.why)
        thisTurn.set(directory, snapshot)
        newest.set(directory, snapshot)
      }
      if (call.files.length > 0) return await protectFiles(directory, snapshot, call)
      return await orAborted(snapshot.result, call.signal)
    },
    prepare: async (directory) => {
      if (newest.has(directory) || preparing !== undefined) return
      if (unsupportedRootReason(directory, { userHome, home }) !== undefined) return
      try {
        preparing = store.prepare(directory, closing.signal)
        await preparing
      } catch (error) {
        // The snapshot before the first change reports problems.
        log.debug(`the scan of ${directory} in advance ended: ${errorMessage(error)}`)
      }
    },
    finished,
    close: async () => {
      await orAborted(finished(), AbortSignal.timeout(CLOSE_WAIT_MS))
      closing.abort()
      await finished()
      await preparing?.catch(() => undefined)
    },
  }
}

const MAX_SHOWN_PATHS = 5

function unreadableProblem(directory: string, paths: readonly string[]): SnapshotProblem | undefined {
  if (paths.length === 0) return undefined
  const rest = paths.length > MAX_SHOWN_PATHS ? ` and ${paths.length - MAX_SHOWN_PATHS} more` : ""
  const reason = `these paths cannot be read: ${paths.slice(0, MAX_SHOWN_PATHS).join(", ")}${rest}`
  return { kind: "incomplete", directory, reason }
}
