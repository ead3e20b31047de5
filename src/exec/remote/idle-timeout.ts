import type { Clock } from "../../base/clock.ts"
import type { Logger } from "../../base/logger.ts"
import { ok } from "../../base/result.ts"
import type { Result } from "../../base/result.ts"
import { errorMessage } from "../../base/system-error.ts"
import type { Workspace } from "../workspace.ts"

export interface IdleTimeoutOptions {
  /** How long an unused workspace is kept; 0 keeps it forever. */
  readonly lifetimeSeconds: number
  readonly clock: Clock
  readonly log: Logger
  readonly suspend: () => Promise<void>
  readonly resume: (signal: AbortSignal) => Promise<Result<undefined>>
}

/** Suspends a workspace after a time without use and resumes it with the next use. */
export interface IdleTimeout {
  isSuspended(): boolean
  /** Records a use of the workspace. */
  touch(): void
  /** Returns the workspace with its use tracked: running commands and background processes prevent suspension. Starts the timer. */
  readonly track: (workspace: Workspace) => Workspace
  /** Call it when the workspace cannot be reached. Undefined when it is not suspended. */
  resume(signal: AbortSignal): Promise<Result<undefined> | undefined>
  /** Suspends the workspace if its time is up. The timer calls it every minute. */
  check(): Promise<void>
  stop(): void
}

/** Command line to use while the workspace is suspended: it fails immediately, which makes the caller resume the workspace. */
export const FAILING_COMMAND_LINE: readonly string[] = ["false"]

const CHECK_INTERVAL_MS = 60_000

export function createIdleTimeout(options: IdleTimeoutOptions): IdleTimeout {
  const { clock, log, lifetimeSeconds } = options
  let usedAt = clock.now()
  let activeUses = 0
  let state: "active" | "suspended" | "stopped" = "active"
  let suspending: Promise<void> = Promise.resolve()
  let resuming: Promise<Result<undefined>> | undefined
  let timer: NodeJS.Timeout | undefined

  const touch = (): void => {
    usedAt = clock.now()
  }
  const trackUse = async (work: Promise<unknown>): Promise<void> => {
    activeUses += 1
    try {
      await work
    } finally {
      activeUses -= 1
      touch()
    }
  }
  const check = async (): Promise<void> => {
    if (state !== "active" || activeUses > 0 || clock.now() - usedAt < lifetimeSeconds * 1000) return
    state = "suspended"
    suspending = options.suspend().catch((error: unknown) => {
      log.warning(`cannot suspend an idle workspace: ${errorMessage(error)}`)
    })
    await suspending
  }
  const resume = async (signal: AbortSignal): Promise<Result<undefined>> => {
    await suspending
    const resumed = await options.resume(signal)
    if (!resumed.ok) return resumed
    if (state === "suspended") state = "active"
    touch()
    return ok(undefined)
  }
  return {
    isSuspended: () => state === "suspended",
    touch,
    check,
    track: (workspace) => {
      if (lifetimeSeconds > 0) timer = setInterval(() => void check(), CHECK_INTERVAL_MS).unref()
      return {
        ...workspace,
        hold: () => {
          const { promise, resolve } = Promise.withResolvers<undefined>()
          trackUse(promise).catch(() => undefined)
          return () => {
            resolve(undefined)
          }
        },
        run: (command, run) => {
          const running = workspace.run(command, run)
          trackUse(running.exit).catch(() => undefined)
          return running
        },
        start: async (command, start) => {
          const starting = workspace.start(command, start)
          trackUse(starting).catch(() => undefined)
          const started = await starting
          trackUse(started.exit).catch(() => undefined)
          return started
        },
      }
    },
    resume: async (signal) => {
      if (state !== "suspended") return undefined
      resuming ??= resume(signal).finally(() => {
        resuming = undefined
      })
      return await resuming
    },
    stop: () => {
      state = "stopped"
      clearInterval(timer)
    },
  }
}
