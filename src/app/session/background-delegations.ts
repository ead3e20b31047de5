import { epochSeconds } from "../../base/clock.ts"
import { randomHex } from "../../base/random-and-hash.ts"
import { fail, ok } from "../../base/result.ts"
import type { Result } from "../../base/result.ts"
import { errorMessage } from "../../base/system-error.ts"
import type { BackgroundTask } from "../../toolkit/ports/spawn-agent.ts"
import { thisProcess } from "../services/delegation-records.ts"
import type { DelegationRecord, DelegationRecords } from "../services/delegation-records.ts"
import { deliver } from "../services/recover-delegations.ts"
import type { FacetContext } from "./facet-context.ts"

/** The delegations of one session that run while its conversation goes on. */
export interface RunningDelegations {
  dispatch(task: BackgroundTask): Result<{ readonly delegationId: string }>
  /** Ends all of them and waits. */
  close(): Promise<void>
}

export function createBackgroundDelegations(context: FacetContext, records: DelegationRecords): RunningDelegations {
  const { services, taskId } = context
  const { clock, config, log, redactor } = services
  const closing = new AbortController()
  const running = new Map<string, Promise<void>>()
  const work = async (task: BackgroundTask, started: DelegationRecord): Promise<void> => {
    const { status, result } = await task
      .work({ delegationId: started.id, signal: closing.signal })
      .catch((error: unknown) => ({ status: "error" as const, result: { error: errorMessage(error) } }))
    const current = records.list().find(({ id }) => id === started.id) ?? started
    const text = redactor.redact(JSON.stringify(result))
    const ended = { ...current, status, result: text, ended_at: epochSeconds(clock) }
    records.write(ended)
    deliver(ended, { owner: taskId, records, services })
  }
  return {
    dispatch: (task) => {
      const limit = config.get("delegation.max_async_children")
      if (running.size >= limit) {
        return fail(
          `${running.size} delegations already run in the background, and delegation.max_async_children allows ${limit}. Wait for a notice, or leave background out`,
        )
      }
      const id = `deleg_${randomHex(4)}`
      const record: DelegationRecord = {
        version: 1,
        id,
        background: true,
        parent_session_id: context.session().conversation.id,
        goal: redactor.redact(task.goal),
        ...(task.context === undefined ? {} : { context: redactor.redact(task.context) }),
        started_at: epochSeconds(clock),
        status: "running",
        reported: false,
        delivered: false,
        process: thisProcess(),
      }
      try {
        records.write(record)
      } catch (error) {
        return fail(`the delegation cannot be recorded, so it was not started: ${errorMessage(error)}`)
      }
      const done = work(task, record)
        .catch((error: unknown) => {
          log.error(`the result of ${id} is lost: ${errorMessage(error)}`)
        })
        .finally(() => running.delete(id))
      running.set(id, done)
      services.subAgents.track(done)
      return ok({ delegationId: id })
    },
    close: async () => {
      closing.abort()
      await Promise.all(running.values())
    },
  }
}
