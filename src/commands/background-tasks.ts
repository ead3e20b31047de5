import type { Session } from "../app/session/session.ts"
import type { Clock } from "../base/clock.ts"
import { errorMessage } from "../base/system-error.ts"
import type { AgentEvent } from "../protocol/events.ts"
import type { BackgroundTask, BackgroundTasks } from "./slash-command.ts"

export interface BackgroundTaskResult {
  readonly task: BackgroundTask
  /** What the agent answered; empty when it failed or was stopped. */
  readonly answer: string
  /** Why there is no answer, as a sentence. */
  readonly problem?: string
}

export interface RunningTasks extends BackgroundTasks {
  /** Stops all tasks and waits until their sessions are closed. */
  close(): Promise<void>
  /** Resolves when no task is running. */
  settled(): Promise<void>
}

/** Runs tasks, each in a session that `open` opens, and reports their results. Questions of a task go through `event`. */
export function createBackgroundTasks(options: {
  readonly open: () => Promise<Session>
  readonly clock: Pick<Clock, "now">
  readonly ended: (result: BackgroundTaskResult) => void
  readonly event?: (task: BackgroundTask, session: Session, event: AgentEvent) => void
}): RunningTasks {
  const { open, clock, ended } = options
  const running = new Map<number, { readonly task: BackgroundTask; readonly stop: AbortController }>()
  const work = new Set<Promise<void>>()
  let started = 0

  const run = async (task: BackgroundTask, session: Session, stop: AbortController): Promise<void> => {
    let result: BackgroundTaskResult = { task, answer: "", problem: "It was stopped." }
    try {
      for await (const event of session.run(task.prompt, { signal: stop.signal })) {
        if (event.type === "run-end") {
          const { finalResponse, error } = event.result
          if (error !== undefined) result = { task, answer: finalResponse ?? "", problem: error.message }
          else if (event.outcome !== "interrupted") result = { task, answer: finalResponse ?? "" }
        } else options.event?.(task, session, event)
      }
    } catch (error) {
      result = { task, answer: "", problem: errorMessage(error) }
    } finally {
      running.delete(task.number)
      await session.close(stop.signal.aborted ? "interrupted" : "completed")
    }
    ended(result)
  }

  return {
    start: async (prompt) => {
      started += 1
      const number = started
      const session = await open()
      const stop = new AbortController()
      const task: BackgroundTask = { number, prompt, sessionId: session.id, startedAt: clock.now() }
      running.set(number, { task, stop })
      const done = run(task, session, stop).finally(() => work.delete(done))
      work.add(done)
      return number
    },
    list: () => [...running.values()].map(({ task }) => task),
    stop: (number) => {
      const found = running.get(number)
      found?.stop.abort()
      return found !== undefined
    },
    close: async () => {
      for (const { stop } of running.values()) stop.abort()
      await Promise.all(work)
    },
    settled: async () => {
      await Promise.all(work)
    },
  }
}
