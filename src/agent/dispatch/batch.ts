import { Channel } from "../../base/channel.ts"
import type { AgentEventBody } from "../../protocol/events.ts"
import type { Message, ToolCall, ToolMessage } from "../../protocol/message.ts"
import { MAX_PARALLEL_CALLS, planBatch } from "../../toolkit/parallel-plan.ts"
import { passDoor } from "./door.ts"
import type { DoorOptions, Settled } from "./door.ts"
import { prepareCall, skippedCall } from "./prepare.ts"
import type { PreparedCall, PrepareOptions } from "./prepare.ts"
import { createResultRecorder } from "./record-results.ts"
import type { RecordOptions } from "./record-results.ts"

export interface BatchOptions extends Omit<DoorOptions, "events" | "heartbeat">, PrepareOptions, RecordOptions {
  /** Pause between calls that run one after the other. Default none. */
  readonly toolDelayMs?: number
}

/** What the loop must know about the calls of one reply. */
export interface BatchReport {
  /** One per call, in call order, as they were given to `record` or, where that is in `reshaped`, in their new form. */
  readonly messages: readonly ToolMessage[]
  /** Results that became shorter after they were stored, because all of them together are too long: sent form → stored form. */
  readonly reshaped: ReadonlyMap<Message, Message>
  /** Calls of tools that do not exist. When there is one, nothing of the reply was run. */
  readonly unknownTools: number
  /** Calls whose arguments are no JSON object and cannot be mended. */
  readonly invalidArguments: number
  /** Absolute paths that a call was to write and did not. */
  readonly failedWrites: readonly string[]
  /** Every call was of a tool beside which text counts as the answer. */
  readonly housekeepingOnly: boolean
}

/**
 * Runs the calls of one reply: side by side when their declarations allow it, else one after the other. Events arrive as they
 * happen; results are stored and told in call order, each as soon as all earlier ones are stored. Whoever stops reading, or a
 * result that cannot be stored, ends the calls that still run before the generator returns.
 */
export async function* runBatch(
  calls: readonly ToolCall[],
  options: BatchOptions,
): AsyncGenerator<AgentEventBody, BatchReport, void> {
  const given = await Promise.all(calls.map((call) => prepareCall(call, options)))
  const unknownTools = given.filter((call) => isRefused(call, "unknown-tool")).length
  const prepared =
    unknownTools === 0 ? given : given.map((call) => (isRefused(call, "unknown-tool") ? call : skippedCall(call)))
  const events = new Channel<AgentEventBody>()
  const settled: Settled[] = []
  const giveUp = new AbortController()
  const signal = AbortSignal.any([options.signal, giveUp.signal])
  const recorder = createResultRecorder(prepared.length, events, { ...options, signal })
  const parallel = plan(prepared, options) === "parallel"
  const doorOptions: DoorOptions = { ...options, signal, events, heartbeat: parallel }
  const work = runAll(prepared, parallel ? MAX_PARALLEL_CALLS : 1, async (call, index) => {
    try {
      if (index > 0 && !parallel) await pause(doorOptions, options.toolDelayMs)
      const done = await passDoor(call, doorOptions)
      settled.push(done)
      await recorder.settle(index, done)
    } catch (error) {
      giveUp.abort()
      throw error
    }
  }).finally(() => {
    events.close()
  })
  // The failure is thrown below; until a slow reader gets there it must not count as unhandled.
  work.catch(() => undefined)
  let read = false
  try {
    yield* events
    read = true
  } finally {
    if (!read) giveUp.abort()
    await work
  }
  return {
    messages: recorder.messages(),
    reshaped: recorder.reshaped(),
    unknownTools,
    invalidArguments: given.filter((call) => isRefused(call, "broken-arguments")).length,
    failedWrites: failedWrites(settled, options),
    housekeepingOnly: given.length > 0 && given.every((call) => call.entry?.housekeeping === true),
  }
}

function isRefused(call: PreparedCall, why: Extract<PreparedCall, { kind: "refused" }>["why"]): boolean {
  return call.kind === "refused" && call.why === why
}

function plan(prepared: readonly PreparedCall[], options: BatchOptions): "parallel" | "sequential" {
  return planBatch(
    prepared.map((call) =>
      call.kind === "refused"
        ? { parallel: "never", access: "unknown", paths: [], argumentsValid: false }
        : {
            parallel: call.entry.parallel ?? "never",
            access: call.parsed.access,
            paths: pathsOf(call, options),
            argumentsValid: true,
          },
    ),
  )
}

function pathsOf(call: Extract<PreparedCall, { kind: "ready" }>, { workspace }: BatchOptions): readonly string[] {
  return call.parsed.subjects.flatMap((subject) =>
    subject.kind === "path" ? [workspace.files.resolve(subject.path)] : [],
  )
}

async function runAll<T>(
  items: readonly T[],
  atOnce: number,
  run: (item: T, index: number) => Promise<void>,
): Promise<void> {
  const queue = items.entries()
  const worker = async (): Promise<void> => {
    for (const [index, item] of queue) await run(item, index)
  }
  const ended = await Promise.allSettled(Array.from({ length: Math.min(atOnce, items.length) }, worker))
  for (const end of ended) if (end.status === "rejected") throw end.reason
}

/** An interrupt ends the pause; the calls behind it then settle as skipped. */
async function pause({ clock, signal }: DoorOptions, delayMs = 0): Promise<void> {
  if (delayMs <= 0 || signal.aborted) return
  try {
    await clock.sleep(delayMs, { signal })
  } catch (error) {
    if (!signal.aborted) throw error
  }
}

/** In the order in which the calls ended: a path that was written after all is not among them. */
function failedWrites(settled: readonly Settled[], options: BatchOptions): readonly string[] {
  const failed = new Set<string>()
  for (const { prepared, outcome } of settled) {
    if (prepared.kind === "refused" || prepared.parsed.access !== "write") continue
    const changed = outcome.result.filesChanged ?? []
    if (outcome.how !== "ok" && changed.length === 0) for (const path of pathsOf(prepared, options)) failed.add(path)
    for (const path of changed) failed.delete(path)
  }
  return [...failed]
}
