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

/** Checks the project while background processes of a session run, and until they have ended. */
export interface ProcessChecks {
  /** Whether a process is running that was started earlier. */
  isChecking(): boolean
  /** Begins for the processes that were started since the last call. */
  begin(beginCheck: () => BegunCheck): void
}

export function createProcessChecks(options: ProcessCheckOptions): ProcessChecks {
  const { root, taskId, processes, checks, clock, countFindings } = options
  const checked = new Set<string>()
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
  const endAfter = async (id: string, check: BackgroundCheck): Promise<void> => {
    await processes.exited(id)
    await checkUntilQuiet(check)
    checked.delete(id)
    if (checked.size > 0) return
    current = undefined
    await check.end()
  }
  return {
    isChecking: () => current !== undefined,
    begin: (beginCheck) => {
      for (const { id, state, isDetached } of processes.list(taskId)) {
        if (state.status !== "running" || isDetached || checked.has(id)) continue
        checked.add(id)
        current ??= checks.watch(root, beginCheck)
        checks.track(endAfter(id, current))
      }
    },
  }
}
