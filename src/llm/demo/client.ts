import { isAbort } from "../../base/abort.ts"
import type { Clock } from "../../base/clock.ts"
import { codePointLength, takeCodePoints } from "../../base/text.ts"
import type { FinishReason } from "../../protocol/message.ts"
import { backoffMs } from "../backoff.ts"
import type { LlmFailure } from "../failure/failure.ts"
import type { ModelClient, ModelEvent, ModelOutcome, ModelReply, ModelRequest } from "../model.ts"
import { answerConversation } from "./answer.ts"
import { readConversation } from "./conversation.ts"
import { DEMO_RUNTIME } from "./runtime.ts"
import type { DemoScript, DemoStep } from "./script.ts"
import { estimateUsage } from "./usage.ts"

/**
 * A model for people without a key, and for tests: it answers by fixed rules, in this process. With a script, each request
 * takes the script's next step instead.
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
      if (script === undefined) return yield* speak(ruleUtterance(request), { request, signal })
      const step = script[position] ?? scriptEnded(script.length)
      position += 1
      return yield* playStep(step, { request, signal, clock, random })
    },
    close: () => {
      // Nothing is open: the demo has no connection.
    },
  }
}

interface Exchange {
  readonly request: ModelRequest
  readonly signal: AbortSignal
}

/** One reply before it is spoken: everything is decided, only the delivery is missing. */
interface Utterance {
  readonly think: string
  readonly say: string
  readonly calls: readonly { readonly tool: string; readonly args: string }[]
  readonly finish?: FinishReason
  readonly ending: ModelReply["ending"]
}

function ruleUtterance(request: ModelRequest): Utterance {
  const { think, say, call } = answerConversation(readConversation(request))
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
  exchange: Exchange & { readonly clock: Clock; readonly random: () => number },
): AsyncGenerator<ModelEvent, ModelOutcome, void> {
  const { clock, signal } = exchange
  let waitMs = step.waitMs ?? 0
  if (step.fault === "rate-limit") {
    waitMs = step.waitMs ?? backoffMs({ attempt: 1, baseMs: 2000, maxMs: 60_000, ratio: 0.5, random: exchange.random })
    const text = `the demo script limits the number of requests; trying again in ${(waitMs / 1000).toFixed(1)} s`
    yield { type: "retry", attempt: 1, delayMs: waitMs, reason: "rate_limit", text }
  }
  if (waitMs > 0 && !(await slept(clock, waitMs, signal))) return { kind: "aborted" }
  if (step.fault === "overflow") return signal.aborted ? { kind: "aborted" } : { kind: "failed", failure: OVERFLOW }
  return yield* speak(stepUtterance(step), exchange)
}

async function slept(clock: Clock, ms: number, signal: AbortSignal): Promise<boolean> {
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
  message: "the demo script says the conversation is longer than hermes-demo can read",
  detail: "",
  retryable: false,
  compress: true,
  rotateCredential: false,
  fallback: false,
}

function stepUtterance(step: DemoStep): Utterance {
  const calls = step.calls.map(({ tool, args }) => ({ tool, args: JSON.stringify(args) }))
  const finish = step.finish === undefined ? {} : { finish: step.finish }
  const whole: Utterance = { think: step.think, say: step.say, calls, ending: "complete", ...finish }
  if (step.fault === "malformed-json") {
    return { ...whole, calls: calls.map(({ tool, args }) => ({ tool, args: args.slice(0, -1) })) }
  }
  if (step.fault === "empty") return { ...whole, say: "", calls: [] }
  if (step.fault !== "disconnect") return whole
  return calls.length > 0
    ? { ...whole, calls: [], finish: "length", ending: "cut-call" }
    : { ...whole, say: firstHalf(step.say), finish: "stop", ending: "cut-text" }
}

function firstHalf(text: string): string {
  return takeCodePoints(text, Math.ceil(codePointLength(text) / 2))
}

/** Word by word; an abort ends it before the next word. */
async function* speak(utterance: Utterance, exchange: Exchange): AsyncGenerator<ModelEvent, ModelOutcome, void> {
  for (const event of events(utterance)) {
    if (exchange.signal.aborted) return { kind: "aborted" }
    yield event
  }
  return exchange.signal.aborted ? { kind: "aborted" } : { kind: "reply", reply: toReply(utterance, exchange.request) }
}

function* events({ think, say, calls }: Utterance): Generator<ModelEvent> {
  for (const text of words(think)) yield { type: "reasoning-delta", text }
  for (const text of words(say)) yield { type: "text-delta", text }
  for (const { tool } of calls) yield { type: "tool-generating", tool }
}

/** Each word with the space before it: joined again they are the text. */
function words(text: string): readonly string[] {
  return text.match(/\s*\S+|\s+$/gu) ?? []
}

function toReply({ think, say, calls, finish, ending }: Utterance, request: ModelRequest): ModelReply {
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

/** One above the highest in the history, which may have lost its beginning to compression. */
function nextCallNumber({ messages }: ModelRequest): number {
  const numbers = messages.flatMap((message) =>
    message.role === "assistant"
      ? (message.tool_calls ?? []).map((call) => Number(/^demo_(\d+)$/.exec(call.id)?.[1] ?? 0))
      : [],
  )
  return numbers.reduce((highest, number) => Math.max(highest, number), 0) + 1
}
