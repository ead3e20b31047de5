import type { Clock } from "../../../base/clock.ts"
import type { BackgroundCheck, BackgroundChecks, BegunCheck } from "../../services/background-checks.ts"
import type { FacetContext } from "../../session/facet-context.ts"

const MAX_ROUNDS = 10
const ROUND_MS = 100

export interface ProcessCheckOptions {
  readonly root: string
  readonly taskId: FacetContext["taskId"]
  readonly processes: FacetContext["services"]["processes"]
  readonly checks: BackgroundChecks
  readonly clock: Clock
  /** How many findings there were so far. */
  readonly countFindings: () => number
}

/** Checks the project while background processes and other programs of a session run, and until they have ended. */
export interface ProcessChecks {
  /** Whether a process or program is running that was started earlier. */
  isChecking(): boolean
  /** Begins for the processes that were started since the last call. Returns whether there are any. */
  begin(beginCheck: () => BegunCheck): boolean
  /** Begins for a program that is about to start, such as a language server. */
  beginUntil(exited: Promise<unknown>, beginCheck: () => BegunCheck): void
}

export function createProcessChecks(options: ProcessCheckOptions): ProcessChecks {
  const { root, taskId, processes, checks, clock, countFindings } = options
  const checked = new Set<string>()
  let running = 0
  let current: BackgroundCheck | undefined
  /** bubblewrap exits a little earlier than the processes in the sandbox, which may still write. */
  const checkUntilQuiet = async (check: BackgroundCheck): Promise<void> => {
    const { signal } = new AbortController()
    for (let round = 0; round < MAX_ROUNDS; round += 1) {
      const before = countFindings()
      await clock.sleep(ROUND_MS, { signal })
      await check.check()
      if (countFindings() === before) return
    }
  }
  const endAfter = async (exited: Promise<unknown>, check: BackgroundCheck): Promise<void> => {
    await exited
    await checkUntilQuiet(check)
    running -= 1
    if (running > 0) return
    current = undefined
    await check.end()
  }
  const beginUntil = (exited: Promise<unknown>, beginCheck: () => BegunCheck): void => {
    running += 1
    current ??= checks.watch(root, beginCheck)
    checks.track(endAfter(exited, current))
  }
  return {
    isChecking: () => current !== undefined,
    begin: (beginCheck) => {
      const started = processes
        .list(taskId)
        .filter(({ id, state, isDetached }) => state.status === "running" && !isDetached && !checked.has(id))
      for (const { id } of started) {
        checked.add(id)
        beginUntil(processes.exited(id), beginCheck)
      }
      return started.length > 0
    },
    beginUntil,
  }
}
