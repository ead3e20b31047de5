import { Channel } from "../../base/channel.ts"
import type { AgentEventBody } from "../../protocol/events.ts"
import type { Message, ToolCall, ToolMessage } from "../../protocol/message.ts"
import { MAX_PARALLEL_CALLS, planBatch } from "../../toolkit/parallel-plan.ts"
import type { BatchRun, CallRun, DispatchSession } from "./dispatch-session.ts"
import { passDoor } from "./door.ts"
import type { Settled } from "./settled.ts"
import { pathsOf, plannedCall } from "./planned-call.ts"
import { prepareCall, skippedCall } from "./prepare.ts"
import type { PreparedCall } from "./prepare.ts"
import { createResultRecorder } from "./record-results.ts"

/** What became of the calls of one reply. */
export interface BatchReport {
  /** One per call, in call order, in the form in which they are sent. */
  readonly messages: readonly ToolMessage[]
  /** Results that were shortened after they were stored, because all of them together are too long: sent form → stored form. */
  readonly reshaped: ReadonlyMap<Message, Message>
  /** Calls of tools that do not exist. If there is one, no call of the reply runs. */
  readonly unknownTools: number
  /** Absolute paths that a call should have written and did not. */
  readonly failedWrites: readonly string[]
  /** Every call was of a housekeeping tool, so the text of the reply may be the answer. */
  readonly housekeepingOnly: boolean
  /** Every call was a script that calls tools, so the iteration is refunded. */
  readonly scriptsOnly: boolean
}

/**
 * Runs the calls of one reply, in parallel where their declarations allow it. Events are emitted as they happen; results are stored
 * in call order, each as soon as all earlier ones are stored. If the reader stops or a result cannot be stored, the calls that
 * still run are aborted before the generator returns.
 */
export async function* runBatch(
  calls: readonly ToolCall[],
  session: DispatchSession,
  run: BatchRun,
): AsyncGenerator<AgentEventBody, BatchReport, void> {
  const given = await Promise.all(calls.map((call) => prepareCall(call, session)))
  const unknownTools = given.filter((call) => isUnknownTool(call)).length
  const prepared =
    unknownTools === 0
      ? withinDelegationLimit(given, session)
      : given.map((call) => (isUnknownTool(call) ? call : skippedCall(call)))
  const events = new Channel<AgentEventBody>()
  const settled: Settled[] = []
  const abandon = new AbortController()
  const signal = AbortSignal.any([run.signal, abandon.signal])
  const recorder = createResultRecorder(prepared.length, session, {
    record: (message) => run.record(message),
    events,
    signal,
  })
  const parallel = planBatch(prepared.map((call) => plannedCall(call, session))) === "parallel"
  const { runId, interactions } = run
  const callRun: CallRun = { runId, signal, interactions, events, heartbeat: parallel }
  const work = runAll(prepared, parallel ? MAX_PARALLEL_CALLS : 1, async (call, index) => {
    try {
      const done = await passDoor(call, session, callRun)
      settled.push(done)
      await recorder.settle(index, done)
    } catch (error) {
      abandon.abort()
      throw error
    }
  }).finally(() => {
    events.close()
  })
  // The failure is thrown below; until a slow reader gets there it must not count as an unhandled rejection.
  work.catch(() => undefined)
  let read = false
  try {
    yield* events
    read = true
  } finally {
    if (!read) abandon.abort()
    await work
  }
  return {
    messages: recorder.messages(),
    reshaped: recorder.reshaped(),
    unknownTools,
    failedWrites: failedWrites(settled, session),
    housekeepingOnly: given.length > 0 && given.every((call) => call.entry?.housekeeping === true),
    scriptsOnly: given.length > 0 && given.every((call) => call.entry?.role === "script"),
  }
}

/** Each call that delegates may start several sub-agents, so a reply may contain only a few. */
function withinDelegationLimit(
  calls: readonly PreparedCall[],
  { maxDelegations }: DispatchSession,
): readonly PreparedCall[] {
  if (maxDelegations === undefined) return calls
  const surplus = new Set(calls.filter(({ entry }) => entry?.role === "delegation").slice(maxDelegations))
  const error = `Skipped: a reply may delegate at most ${maxDelegations} times (delegation.max_concurrent_children). Send this call again later.`
  return surplus.size === 0 ? calls : calls.map((call) => (surplus.has(call) ? skippedCall(call, error) : call))
}

function isUnknownTool(call: PreparedCall): boolean {
  return call.kind === "refused" && call.why === "unknown-tool"
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

/** In the order in which the calls ended, so that a path that a later call wrote is not listed. */
function failedWrites(settled: readonly Settled[], session: DispatchSession): readonly string[] {
  const failed = new Set<string>()
  for (const { prepared, outcome } of settled) {
    if (prepared.kind === "refused" || prepared.parsed.access !== "write") continue
    const changed = outcome.result.filesChanged ?? []
    if (outcome.how !== "ok" && changed.length === 0) for (const path of pathsOf(prepared, session)) failed.add(path)
    for (const path of changed) failed.delete(path)
  }
  return [...failed]
}
