import type { Clock } from "../../base/clock.ts"
import type { Logger } from "../../base/logger.ts"
import { ok } from "../../base/result.ts"
import type { Result } from "../../base/result.ts"
import { errorMessage } from "../../base/system-error.ts"
import type { Workspace } from "../workspace.ts"

export interface IdleWatchOptions {
  /** How long a place that nobody uses is kept; 0 for ever. */
  readonly lifetimeSeconds: number
  readonly clock: Clock
  readonly log: Logger
  /** Gives the place up until somebody needs it. */
  readonly rest: () => Promise<void>
  /** Brings it back. */
  readonly wake: (signal: AbortSignal) => Promise<Result<undefined>>
}

/** Gives up a place that nobody has used for a while, and brings it back with the next use. */
export interface IdleWatch {
  isResting(): boolean
  /** Something was asked of the place just now. */
  touch(): void
  /** The same workspace, with an eye on when it was used last: commands and background processes keep it awake. */
  watched(workspace: Workspace): Workspace
  /** For a transport that found nobody there; undefined when the place is not at rest. */
  wake(signal: AbortSignal): Promise<Result<undefined> | undefined>
  /** What the watch does every minute. */
  check(): Promise<void>
  stop(): void
}

/** The command line for a place at rest: it fails at once, and then the place is brought back. */
export const NOBODY_THERE: readonly string[] = ["false"]

const CHECK_MS = 60_000

export function createIdleWatch(options: IdleWatchOptions): IdleWatch {
  const { clock, log, lifetimeSeconds } = options
  let usedAt = clock.now()
  let busy = 0
  let state: "awake" | "resting" | "stopped" = "awake"
  let givingUp: Promise<void> = Promise.resolve()
  let waking: Promise<Result<undefined>> | undefined
  let timer: NodeJS.Timeout | undefined

  const touch = (): void => {
    usedAt = clock.now()
  }
  const use = async (work: Promise<unknown>): Promise<void> => {
    busy += 1
    try {
      await work
    } finally {
      busy -= 1
      touch()
    }
  }
  const check = async (): Promise<void> => {
    if (state !== "awake" || busy > 0 || clock.now() - usedAt < lifetimeSeconds * 1000) return
    state = "resting"
    givingUp = options.rest().catch((error: unknown) => {
      log.warning(`a place that nobody uses could not be given up: ${errorMessage(error)}`)
    })
    await givingUp
  }
  const wakeUp = async (signal: AbortSignal): Promise<Result<undefined>> => {
    await givingUp
    const awake = await options.wake(signal)
    if (!awake.ok) return awake
    if (state === "resting") state = "awake"
    touch()
    return ok(undefined)
  }
  return {
    isResting: () => state === "resting",
    touch,
    check,
    watched: (workspace) => {
      if (lifetimeSeconds > 0) timer = setInterval(() => void check(), CHECK_MS).unref()
      return {
        ...workspace,
        run: (command, run) => {
          const begun = workspace.run(command, run)
          use(begun.exit).catch(() => undefined)
          return begun
        },
        start: async (command, start) => {
          const starting = workspace.start(command, start)
          use(starting).catch(() => undefined)
          const begun = await starting
          use(begun.exit).catch(() => undefined)
          return begun
        },
      }
    },
    wake: async (signal) => {
      if (state !== "resting") return undefined
      waking ??= wakeUp(signal).finally(() => {
        waking = undefined
      })
      return await waking
    },
    stop: () => {
      state = "stopped"
      clearInterval(timer)
    },
  }
}
