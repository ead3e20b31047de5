import { Channel } from "../../base/channel.ts"
import type { AgentEventBody } from "../../protocol/events.ts"
import type { ToolCall, ToolMessage } from "../../protocol/message.ts"
import { MAX_PARALLEL_CALLS, planBatch } from "../../toolkit/parallel-plan.ts"
import { passDoor } from "./door.ts"
import type { DoorOptions, Settled } from "./door.ts"
import { prepareCall } from "./prepare.ts"
import type { PreparedCall, PrepareOptions } from "./prepare.ts"

export interface BatchOptions extends Omit<DoorOptions, "events">, PrepareOptions {
  /** Makes a result durable; called in call order, never twice at once. */
  record(message: ToolMessage): Promise<void>
}

/**
 * Runs the calls of one reply: side by side when their declarations allow it, else one after the other. Events arrive as they
 * happen; results are stored and told in call order, each as soon as all earlier ones are stored. Whoever stops reading, or a
 * result that cannot be stored, ends the calls that still run before the generator returns.
 */
export async function* runBatch(
  calls: readonly ToolCall[],
  options: BatchOptions,
): AsyncGenerator<AgentEventBody, readonly ToolMessage[], void> {
  const prepared = await Promise.all(calls.map((call) => prepareCall(call, options)))
  const events = new Channel<AgentEventBody>()
  const recorder = createRecorder(prepared.length, events, options)
  const giveUp = new AbortController()
  const signal = AbortSignal.any([options.signal, giveUp.signal])
  const atOnce = plan(prepared, options) === "parallel" ? MAX_PARALLEL_CALLS : 1
  const work = runAll(prepared, atOnce, async (call, index) => {
    try {
      await recorder.settle(index, await passDoor(call, { ...options, signal, events }))
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
  return recorder.messages()
}

function plan(prepared: readonly PreparedCall[], options: BatchOptions): "parallel" | "sequential" {
  return planBatch(
    prepared.map((call) =>
      call.kind === "refused"
        ? { parallel: "never", access: "unknown", paths: [], argumentsValid: false }
        : {
            parallel: call.entry.parallel ?? "never",
            access: call.parsed.access,
            paths: call.parsed.subjects.flatMap((subject) =>
              subject.kind === "path" ? [options.workspace.files.resolve(subject.path)] : [],
            ),
            argumentsValid: true,
          },
    ),
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

/** Stores settled calls in call order, whatever the order they finished in. */
function createRecorder(count: number, events: Channel<AgentEventBody>, options: Pick<BatchOptions, "record">) {
  const settled: (Settled | undefined)[] = Array.from({ length: count })
  const stored: ToolMessage[] = []
  let storing: Promise<void> = Promise.resolve()
  const storeReady = async (): Promise<void> => {
    for (let next = settled[stored.length]; next !== undefined; next = settled[stored.length]) {
      await options.record(next.message)
      stored.push(next.message)
      events.push(next.end)
    }
  }
  return {
    settle: (index: number, call: Settled): Promise<void> => {
      settled[index] = call
      storing = storing.then(storeReady)
      return storing
    },
    messages: (): readonly ToolMessage[] => stored,
  }
}
