import type { Clock } from "../../base/clock.ts"
import { epochSeconds } from "../../base/clock.ts"
import type { Logger } from "../../base/logger.ts"
import { randomHex } from "../../base/random-and-hash.ts"
import type { Redactor } from "../../base/redact.ts"
import { errorMessage } from "../../base/system-error.ts"
import type { Home } from "../../config/home.ts"
import type { AgentEvent, Answer, RunEnd } from "../../protocol/events.ts"
import type { SessionId } from "../../protocol/identifiers.ts"
import { promptTokens } from "../../protocol/usage.ts"
import type { OpenedTask } from "../session/opened-child.ts"
import type { DelegationRecord } from "./delegation-records.ts"

/** A task that the user has started in the background. */
export interface BackgroundTask {
  /** From 1 in each app. */
  readonly number: number
  readonly sessionId: SessionId
  readonly prompt: string
  /** Milliseconds since the epoch. */
  readonly startedAt: number
  readonly toolCount: number
  readonly lastTool: string | undefined
  readonly tokens: { readonly input: number; readonly output: number }
  readonly hasQuestion: boolean
}

/** How a task ended. */
export interface TaskResult {
  readonly task: BackgroundTask
  readonly how: "completed" | "failed" | "stopped"
  /** The answer, or why it failed. */
  readonly text: string
  readonly durationMs: number
}

/** A question of a task, or that one was answered. The request ids are those of `answer`. */
export type TaskEvent = Extract<AgentEvent, { type: "approval-request" | "clarify-request" | "status" }>
export type TaskQuestion = Extract<AgentEvent, { type: "approval-request" | "clarify-request" }>

export interface BackgroundTasks {
  /** The running ones, oldest first. */
  list(): readonly BackgroundTask[]
  /** Returns false when it is not running. */
  stop(task: number): boolean
  /** Returns how many were running. */
  stopAll(): number
  steer(task: number, text: string): boolean
  /** Questions that nobody has answered, oldest first. */
  questions(): readonly TaskQuestion[]
  answer(requestId: string, answer: Answer): boolean
  /** Calls back with each new question and when one is settled. Returns a function that ends it. */
  subscribe(listener: (event: TaskEvent) => void): () => void
  /** The next result that was not shown yet. */
  takeResult(): TaskResult | undefined
  /** Resolves when a result or a question waits, or when the signal aborts. */
  waitForNews(signal: AbortSignal): Promise<void>
  add(task: NewTask): BackgroundTask
  /** Stops all of them and waits. */
  close(): Promise<void>
}

export interface NewTask {
  readonly prompt: string
  readonly session: OpenedTask
  readonly startedBy: SessionId
  /** Called when its session is closed. */
  closed(): Promise<void>
}

interface RunningTask {
  current: Omit<BackgroundTask, "hasQuestion">
  readonly session: OpenedTask
  readonly stop: AbortController
  /** By the request ids of `answer`. */
  readonly questions: Map<string, TaskQuestion>
  done: Promise<void>
}

export function createBackgroundTasks(options: {
  readonly home: Home
  readonly clock: Clock
  readonly log: Logger
  readonly redactor: Redactor
}): BackgroundTasks {
  const { clock, log } = options
  const running = new Map<number, RunningTask>()
  const results: { readonly result: TaskResult; readonly shown: () => void }[] = []
  const listeners = new Set<(event: TaskEvent) => void>()
  const waiting = new Set<() => void>()
  let count = 0
  const wake = (): void => {
    for (const resolve of waiting) resolve()
  }
  const questions = (): readonly TaskQuestion[] => [...running.values()].flatMap((task) => [...task.questions.values()])
  const emit = (event: TaskEvent): void => {
    for (const listener of listeners) listener(event)
    wake()
  }
  const observe = (task: RunningTask, event: AgentEvent): void => {
    task.current = { ...task.current, ...changeBy(event, task.current) }
    const { number } = task.current
    if (event.type === "approval-request" || event.type === "clarify-request") {
      const question = labelled(event, number)
      task.questions.set(question.requestId, question)
      emit(question)
    } else if (event.type === "status" && event.kind === "answered") {
      const requestId = questionId(number, event.requestId)
      task.questions.delete(requestId)
      emit({ ...event, requestId })
    }
  }
  /** The run has ended, and nobody waits for the answers. */
  const closeQuestions = (task: RunningTask): void => {
    for (const question of task.questions.values()) {
      const { requestId, sessionId, runId, seq, ts } = question
      task.questions.delete(requestId)
      const kind = question.type === "approval-request" ? "approval" : "clarify"
      const closed = { kind: "answered", requestId, question: kind, choice: "deny", by: "noninteractive" } as const
      emit({ type: "status", text: "", ...closed, sessionId, runId, seq, ts })
    }
  }
  const runToEnd = async (task: RunningTask): Promise<RunEnd | undefined> => {
    let end: RunEnd | undefined
    let input: string | undefined = task.current.prompt
    while (input !== undefined) {
      let late: string | undefined
      for await (const event of task.session.run(input, { signal: task.stop.signal })) {
        observe(task, event)
        if (event.type === "run-end") [end, late] = [event, event.result.pendingSteer]
      }
      input = task.stop.signal.aborted ? undefined : late
    }
    return end
  }
  const work = async (task: RunningTask, added: NewTask): Promise<void> => {
    const record = await openRecord(task, added, options)
    const started = clock.now()
    const ended = await runToEnd(task).then(resultOf, (error: unknown) => ({
      how: "failed" as const,
      text: errorMessage(error),
    }))
    closeQuestions(task)
    record.write({ status: ended.how === "stopped" ? "interrupted" : ended.how, summary: ended.text })
    try {
      await task.session.close(ended.how)
      await added.closed()
    } catch (error) {
      log.warning(`the background task ${task.current.number} did not close properly: ${errorMessage(error)}`)
    }
    running.delete(task.current.number)
    const result = { ...ended, task: shownTask(task), durationMs: clock.now() - started }
    results.push({ result, shown: () => record.remove() })
    wake()
  }
  const stopAll = (): number => {
    for (const { stop } of running.values()) stop.abort()
    return running.size
  }
  return {
    list: () => [...running.values()].map(shownTask),
    stop: (number) => {
      const task = running.get(number)
      task?.stop.abort()
      return task !== undefined
    },
    stopAll,
    steer: (number, text) => running.get(number)?.session.steer(text) ?? false,
    questions,
    answer: (requestId, answer) => {
      const [, number = "", own = ""] = /^task(\d+):(.*)$/su.exec(requestId) ?? []
      const task = running.get(Number(number))
      if (task?.session.answer(own, answer) !== true) return false
      // The event about it comes later, and until then the question must not be asked again.
      task.questions.delete(requestId)
      return true
    },
    subscribe: (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    takeResult: () => {
      const next = results.shift()
      next?.shown()
      return next?.result
    },
    waitForNews: async (signal) => {
      while (!signal.aborted && results.length === 0 && questions().length === 0) {
        const { promise, resolve } = Promise.withResolvers<undefined>()
        const woken = (): void => {
          resolve(undefined)
        }
        waiting.add(woken)
        signal.addEventListener("abort", woken, { once: true })
        await promise
        signal.removeEventListener("abort", woken)
        waiting.delete(woken)
      }
    },
    add: (added) => {
      count += 1
      const { prompt, session } = added
      const task: RunningTask = {
        current: { number: count, sessionId: session.id, prompt, startedAt: clock.now(), ...NOTHING_DONE },
        session,
        stop: new AbortController(),
        questions: new Map(),
        done: Promise.resolve(),
      }
      running.set(count, task)
      task.done = work(task, added).catch((error: unknown) => {
        log.error(`the result of the background task ${task.current.number} is lost: ${errorMessage(error)}`)
        running.delete(task.current.number)
      })
      return shownTask(task)
    },
    close: async () => {
      stopAll()
      await Promise.all(Array.from(running.values(), ({ done }) => done))
      // The user has left, and what was stopped is known.
      for (const { shown } of results.splice(0)) shown()
    },
  }
}

const NOTHING_DONE = { toolCount: 0, lastTool: undefined, tokens: { input: 0, output: 0 } } as const

function shownTask({ current, questions }: RunningTask): BackgroundTask {
  return { ...current, hasQuestion: questions.size > 0 }
}

function changeBy(event: AgentEvent, task: RunningTask["current"]): Partial<RunningTask["current"]> {
  switch (event.type) {
    case "tool-start":
      return { toolCount: task.toolCount + 1, lastTool: event.call.name }
    case "session-rotated":
      return { sessionId: event.newSessionId }
    case "usage":
      return {
        tokens: {
          input: task.tokens.input + promptTokens(event.usage),
          output: task.tokens.output + event.usage.output,
        },
      }
    default:
      return {}
  }
}

function questionId(task: number, requestId: string): string {
  return `task${task}:${requestId}`
}

function labelled(event: TaskQuestion, task: number): TaskQuestion {
  const requestId = questionId(task, event.requestId)
  return event.type === "approval-request"
    ? { ...event, requestId, description: `background task ${task}: ${event.description}` }
    : { ...event, requestId, question: `Background task ${task}: ${event.question}` }
}

function resultOf(end: RunEnd | undefined): Pick<TaskResult, "how" | "text"> {
  if (end === undefined) return { how: "failed", text: "it ended without a result" }
  const { error, finalResponse } = end.result
  if (end.outcome === "interrupted") return { how: "stopped", text: "" }
  if (error !== undefined) return { how: "failed", text: error.message }
  return { how: "completed", text: finalResponse ?? "" }
}

interface TaskRecord {
  write(change: Pick<DelegationRecord, "status" | "summary">): void
  remove(): void
}

/** So that the next start can report what became of the task if this process is killed. */
async function openRecord(
  { current }: RunningTask,
  { startedBy }: NewTask,
  { home, clock, log, redactor }: Parameters<typeof createBackgroundTasks>[0],
): Promise<TaskRecord> {
  const { openDelegationRecords, thisProcess } = await import("./delegation-records.ts")
  const records = openDelegationRecords(home)
  const id = `task_${randomHex(4)}`
  let record: DelegationRecord = {
    version: 1,
    id,
    background: true,
    task: current.number,
    parent_session_id: startedBy,
    child_session_id: current.sessionId,
    goal: redactor.redact(current.prompt),
    started_at: epochSeconds(clock),
    status: "running",
    reported: false,
    delivered: false,
    process: thisProcess(),
  }
  const write = (change: Partial<DelegationRecord>): void => {
    record = { ...record, ...change }
    try {
      records.write(record)
    } catch (error) {
      log.warning(`the background task ${current.number} is not recorded: ${errorMessage(error)}`)
    }
  }
  write({})
  return {
    write: ({ status, summary = "" }) => {
      write({ status, summary: redactor.redact(summary), ended_at: epochSeconds(clock) })
    },
    remove: () => {
      records.remove(id)
    },
  }
}
