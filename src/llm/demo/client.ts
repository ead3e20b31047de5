import { isAbort } from "../../base/abort.ts"
import type { Clock } from "../../base/clock.ts"
import { codePointLength, takeCodePoints } from "../../base/text.ts"
import type { FinishReason } from "../../protocol/message.ts"
import { backoffMs } from "../backoff.ts"
import type { LlmFailure } from "../failure/failure.ts"
import type { ModelClient, ModelEvent, ModelOutcome, ModelReply, ModelRequest } from "../model.ts"
import { nextReply } from "./next-reply.ts"
import { readDemoConversation } from "./conversation.ts"
import { DEMO_RUNTIME } from "./runtime.ts"
import type { DemoScript, DemoStep } from "./script.ts"
import { estimateUsage } from "./usage.ts"

/**
 * A model for users without a key, and for tests: it replies by fixed rules, in this process. With a script, each
 * request uses the next step of the script instead.
 */
export function createDemoClient(options: {
  readonly script?: DemoScript
  readonly clock: Clock
  readonly random?: () => number
}): ModelClient {
  const { script, clock, random = () => 0 } = options
  let position = 0

  return {
    runtime: DEMO_RUNTIME,
    beginTurn: () => undefined,
    stream: async function* (request, { signal }) {
      if (script === undefined) return yield* streamReply(replyByRules(request), { request, signal })
      const step = script[position] ?? scriptEnded(script.length)
      position += 1
      return yield* playStep(step, { request, signal, clock, random })
    },
    close: () => {
      // The demo has no connection.
    },
  }
}

interface ReplyContext {
  readonly request: ModelRequest
  readonly signal: AbortSignal
}

/** A complete reply that is not yet streamed. */
interface PreparedReply {
  readonly think: string
  readonly say: string
  readonly calls: readonly { readonly tool: string; readonly args: string }[]
  readonly finish?: FinishReason
  readonly ending: ModelReply["ending"]
}

function replyByRules(request: ModelRequest): PreparedReply {
  const { think, say, call } = nextReply(readDemoConversation(request))
  const calls = call === undefined ? [] : [{ tool: call.tool, args: JSON.stringify(call.args) }]
  return { think, say, calls, ending: "complete" }
}

function scriptEnded(steps: number): DemoStep {
  return {
    say: `The demo script has ended; it has ${steps === 1 ? "1 step" : `${steps} steps`}.`,
    think: "",
    calls: [],
  }
}

async function* playStep(
  step: DemoStep,
  context: ReplyContext & { readonly clock: Clock; readonly random: () => number },
): AsyncGenerator<ModelEvent, ModelOutcome, void> {
  const { clock, signal } = context
  let waitMs = step.waitMs ?? 0
  if (step.fault === "rate-limit") {
    waitMs = step.waitMs ?? backoffMs({ attempt: 1, baseMs: 2000, maxMs: 60_000, ratio: 0.5, random: context.random })
    const text = `the demo script limits the number of requests; trying again in ${(waitMs / 1000).toFixed(1)} s`
    yield { type: "retry", attempt: 1, delayMs: waitMs, reason: "rate_limit", text }
  }
  if (waitMs > 0 && !(await sleepUnlessAborted(clock, waitMs, signal))) return { kind: "aborted" }
  if (step.fault === "overflow") return signal.aborted ? { kind: "aborted" } : { kind: "failed", failure: OVERFLOW }
  return yield* streamReply(replyOfStep(step), context)
}

async function sleepUnlessAborted(clock: Clock, ms: number, signal: AbortSignal): Promise<boolean> {
  try {
    await clock.sleep(ms, { signal })
    return true
  } catch (error) {
    if (isAbort(error) || signal.aborted) return false
    throw error
  }
}

const OVERFLOW: LlmFailure = {
  reason: "context_overflow",
  status: 400,
  message: "the demo script reports that the conversation exceeds the context window of hermes-demo",
  detail: "",
  retryable: false,
  compress: true,
  rotateCredential: false,
  fallback: false,
}

function replyOfStep(step: DemoStep): PreparedReply {
  const calls = step.calls.map(({ tool, args }) => ({ tool, args: JSON.stringify(args) }))
  const finish = step.finish === undefined ? {} : { finish: step.finish }
  const complete: PreparedReply = { think: step.think, say: step.say, calls, ending: "complete", ...finish }
  if (step.fault === "malformed-json") {
    return { ...complete, calls: calls.map(({ tool, args }) => ({ tool, args: args.slice(0, -1) })) }
  }
  if (step.fault === "empty") return { ...complete, say: "", calls: [] }
  if (step.fault !== "disconnect") return complete
  return calls.length > 0
    ? { ...complete, calls: [], finish: "length", ending: "cut-call" }
    : { ...complete, say: firstHalf(step.say), finish: "stop", ending: "cut-text" }
}

function firstHalf(text: string): string {
  return takeCodePoints(text, Math.ceil(codePointLength(text) / 2))
}

/** Streams word by word; an abort ends it before the next word. */
async function* streamReply(
  reply: PreparedReply,
  context: ReplyContext,
): AsyncGenerator<ModelEvent, ModelOutcome, void> {
  for (const event of events(reply)) {
    if (context.signal.aborted) return { kind: "aborted" }
    yield event
  }
  return context.signal.aborted ? { kind: "aborted" } : { kind: "reply", reply: toReply(reply, context.request) }
}

function* events({ think, say, calls }: PreparedReply): Generator<ModelEvent> {
  for (const text of words(think)) yield { type: "reasoning-delta", text }
  for (const text of words(say)) yield { type: "text-delta", text }
  for (const { tool } of calls) yield { type: "tool-generating", tool }
}

/** Each word with its leading space, so that the pieces concatenate to the text. */
function words(text: string): readonly string[] {
  return text.match(/\s*\S+|\s+$/gu) ?? []
}

function toReply({ think, say, calls, finish, ending }: PreparedReply, request: ModelRequest): ModelReply {
  const first = nextCallNumber(request)
  return {
    content: say === "" ? null : say,
    toolCalls: calls.map(({ tool, args }, index) => ({
      id: `demo_${first + index}`,
      type: "function",
      function: { name: tool, arguments: args },
    })),
    finishReason: finish ?? (calls.length > 0 ? "tool_calls" : "stop"),
    reasoning: think === "" ? null : think,
    usage: estimateUsage(request, { text: say, reasoning: think, calls: calls.map(({ args }) => args) }),
    carriers: {},
    ending,
  }
}

/** One above the highest number in the history, whose beginning may have been compressed away. */
function nextCallNumber({ messages }: ModelRequest): number {
  const numbers = messages.flatMap((message) =>
    message.role === "assistant"
      ? (message.tool_calls ?? []).map((call) => Number(/^demo_(\d+)$/.exec(call.id)?.[1] ?? 0))
      : [],
  )
  return numbers.reduce((highest, number) => Math.max(highest, number), 0) + 1
}
