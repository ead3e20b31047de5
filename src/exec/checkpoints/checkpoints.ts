import { isAbsolute, join, relative, resolve } from "node:path"

import { isAbort } from "../../base/abort.ts"
import type { Clock } from "../../base/clock.ts"
import type { Logger } from "../../base/logger.ts"
import { fail } from "../../base/result.ts"
import type { Result } from "../../base/result.ts"
import { errorMessage } from "../../base/system-error.ts"
import type { CheckpointSettings } from "./checkpoint-settings.ts"
import { GitMissingError } from "./git-command.ts"
import { createNamedCheckpoints } from "./named-checkpoints.ts"
import type { ConversationAccess, NamedCheckpoints } from "./named-checkpoints.ts"
import { projectRoot, realDirectory, whyNoCheckpoints } from "./project-root.ts"
import { pruneWhenDue } from "./prune-store.ts"
import { createShadowStore } from "./shadow-store.ts"
import type { Difference, Restored, ShadowStore } from "./shadow-store.ts"
import type { Snapshot } from "./snapshot-list.ts"
import { TooManyFilesError } from "./workspace-scan.ts"

/** The way back of one session. Local workspaces only: files in a container or on another machine are out of its reach. */
export interface Checkpoints {
  /** A message of the person begins a turn; each turn may take one snapshot of each workspace. */
  beginTurn(turnId: string): void
  /**
   * Called before a call that may change files. Saves what it could change, once in a turn. Never rejects and never refuses:
   * what went wrong is logged, and the call goes on.
   */
  beforeChange(change: Change): Promise<void>
  /** The project that the session began in; what the next functions work on. */
  root(): string
  /** Other projects that snapshots were taken of in this session. */
  others(): readonly string[]
  list(options: { readonly limit?: number; readonly signal: AbortSignal }): Promise<readonly Snapshot[]>
  diff(hash: string, options: { readonly file?: string; readonly signal: AbortSignal }): Promise<Result<Difference>>
  restore(hash: string, options: { readonly file?: string; readonly signal: AbortSignal }): Promise<Result<Restored>>
  readonly named: NamedCheckpoints
  /** Removes old snapshots where that is due; for the end of a session. */
  tidy(signal: AbortSignal): Promise<void>
  close(): void
}

export interface Change {
  /** Files that will be written. Without them anything in the working directory's project may change, as a command can. */
  readonly paths?: readonly string[]
  /** Where a command runs, if not in the working directory. */
  readonly cwd?: string
  /** Short, for the list: the tool, and the file or command. */
  readonly reason: string
  readonly signal: AbortSignal
}

export interface CheckpointsOptions {
  /** The Hermes home. */
  readonly home: string
  readonly userHome: string
  /** Where the session began to work. */
  readonly startedIn: string
  /** The working directory of the session, asked when needed. */
  readonly workdir: () => string
  readonly sessionId: () => string
  /** Where git is looked for. */
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
  const covered = new Set<string>()
  const refused = new Set<string>()
  let turn: string | undefined
  const shellRoot = (): string => projectRoot(options.workdir(), userHome)
  const ownRoot = projectRoot(options.startedIn, userHome)
  const others = new Set<string>()
  /** The shell may have gone elsewhere to look around: the way back stays where the session began, if it can be there at all. */
  const root = (): string =>
    whyNoCheckpoints(ownRoot, { userHome, home }) === undefined ? ownRoot : ([...others].at(-1) ?? shellRoot())
  const named = createNamedCheckpoints({
    store,
    root,
    sessionId: options.sessionId,
    clock,
    ...(options.conversation === undefined ? {} : { conversation: options.conversation }),
  })

  const save = async (directory: string, { reason, signal }: Change): Promise<void> => {
    if (covered.has(directory) || refused.has(directory)) return
    covered.add(directory)
    const unfit = whyNoCheckpoints(directory, { userHome, home })
    if (unfit !== undefined) {
      refused.add(directory)
      log.info(`no checkpoint of ${directory}: ${unfit}`)
      return
    }
    const limit = AbortSignal.any([signal, AbortSignal.timeout(SNAPSHOT_TIMEOUT_MS)])
    try {
      const taken = await store.snapshot(directory, { reason, turn, session: options.sessionId() }, limit)
      if (taken.created && directory !== ownRoot) others.add(directory)
      log.debug(`checkpoint ${taken.hash} of ${directory}${taken.created ? "" : " (nothing had changed)"}`)
    } catch (error) {
      // The person stopped; a later call of the turn may still need the snapshot.
      if (signal.aborted) covered.delete(directory)
      // Trying again in every turn would only slow the work down.
      else if (limit.aborted || error instanceof TooManyFilesError || error instanceof GitMissingError)
        refused.add(directory)
      log.warning(`no checkpoint of ${directory}: ${errorMessage(error)}`)
    }
  }

  return {
    beginTurn: (turnId) => {
      turn = turnId
      covered.clear()
    },
    beforeChange: async (change) => {
      if (!settings.enabled) return
      for (const directory of rootsOf(change, { root: shellRoot(), workdir: options.workdir(), userHome })) {
        await save(directory, change)
      }
    },
    root,
    others: () => [...others].filter((directory) => directory !== root()),
    list: (wish) => store.list(root(), wish),
    diff: (hash, wish) => guarded(() => store.diff(root(), hash, wish)),
    restore: (hash, wish) => guarded(() => store.restore(root(), hash, wish)),
    named: {
      ...named,
      save: (name, wish) => guarded(() => named.save(name, wish)),
      diff: (name, signal) => guarded(() => named.diff(name, signal)),
      restore: (name, wish) => guarded(() => named.restore(name, wish)),
      delete: (name, signal) => guarded(() => named.delete(name, signal)),
    },
    tidy: (signal) => tidy(store, { ...options, signal }),
    close: () => {
      try {
        store.close()
      } catch (error) {
        log.warning(`what is known about the workspace could not be kept: ${errorMessage(error)}`)
      }
    },
  }
}

/** A file inside the session's own project belongs to that, whatever lies nearer; others to the project they are in. */
function rootsOf(
  { paths, cwd }: Change,
  session: { readonly root: string; readonly workdir: string; readonly userHome: string },
): ReadonlySet<string> {
  const places = paths ?? [cwd ?? session.workdir]
  const absolute = places.map((path) =>
    path === "~" || path.startsWith("~/") ? join(session.userHome, path.slice(1)) : resolve(session.workdir, path),
  )
  return new Set(
    absolute.map((path) =>
      isInside(realDirectory(path), session.root) ? session.root : projectRoot(path, session.userHome),
    ),
  )
}

function isInside(path: string, root: string): boolean {
  const way = relative(root, path)
  return way === "" || (!way.startsWith("../") && way !== ".." && !isAbsolute(way))
}

/** For people and the model a store that cannot be used is an answer, not a fault. */
async function guarded<T>(work: () => Promise<Result<T>>): Promise<Result<T>> {
  try {
    return await work()
  } catch (error) {
    return fail(isAbort(error) ? "stopped before it was done" : errorMessage(error))
  }
}

async function tidy(
  { place }: ShadowStore,
  { settings, clock, log, signal }: CheckpointsOptions & { readonly signal: AbortSignal },
): Promise<void> {
  if (!settings.autoPrune) return
  try {
    const report = await pruneWhenDue(place, { ...settings, clock, signal })
    if (report !== undefined) log.info(`checkpoints: ${report.snapshots} snapshots removed`)
  } catch (error) {
    if (!signal.aborted) log.warning(`old checkpoints could not be removed: ${errorMessage(error)}`)
  }
}
