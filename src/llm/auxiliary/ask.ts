import type { Message, ToolCall } from "../../protocol/message.ts"
import type { ToolDefinition } from "../../protocol/tool.ts"
import type { Usage } from "../../protocol/usage.ts"
import type { LlmFailure } from "../failure/failure.ts"
import type { ModelClient, ModelOutcome, ModelReply, ModelRequest, ModelRuntime } from "../model.ts"
import { MISSING_REST_MS, NO_CREDIT_REST_MS } from "./health.ts"

/** Parameters that some servers refuse and every request can do without. */
export type Refusable = "temperature" | "maxOutputTokens"

export interface Question {
  readonly system: string
  readonly messages: readonly Message[]
  readonly tools: readonly ToolDefinition[]
  readonly maxOutputTokens?: number
  readonly temperature?: number
  /** A model that thought but said nothing has answered with its thoughts. */
  readonly thoughtsWillDo: boolean
  /** What this server refused before; what it refuses now is added. */
  readonly refused: Set<Refusable>
  readonly signal: AbortSignal
}

export type Asked =
  | {
      readonly kind: "answered"
      readonly text: string
      readonly toolCalls: readonly ToolCall[]
      /** Undefined when the server did not report any. */
      readonly usage: Usage | undefined
      readonly runtime: ModelRuntime
    }
  | {
      readonly kind: "failed"
      readonly message: string
      /** The model is not to be had for now; another one may well answer. */
      readonly capacity: boolean
      /** How long this place is better left alone. */
      readonly restMs?: number
    }
  | { readonly kind: "aborted" }

/** One question to one model. Nobody watches the answer arrive, so one that broke off is asked for once more. */
export async function ask(client: ModelClient, question: Question): Promise<Asked> {
  for (let broken = 0; ;) {
    const request = requestFor(question, client.runtime)
    const { outcome, seen } = await complete(client, request, question.signal)
    if (outcome.kind === "aborted") return outcome
    if (outcome.kind === "reply") {
      if (outcome.reply.ending === "complete") return answered(outcome.reply, client.runtime, question)
      broken += 1
      if (broken > 1) return { kind: "failed", message: brokeOff(client.runtime), capacity: true }
      continue
    }
    const refused = refusedParameter(outcome.failure, request)
    if (refused !== undefined) {
      question.refused.add(refused)
      continue
    }
    broken += 1
    if (broken > 1 || !seen || !outcome.failure.retryable) return failed(outcome.failure)
  }
}

function requestFor(question: Question, { model }: ModelRuntime): ModelRequest {
  const { system, messages, tools, maxOutputTokens, temperature, refused } = question
  return {
    model,
    system,
    messages,
    tools,
    ...(maxOutputTokens === undefined || refused.has("maxOutputTokens") ? {} : { maxOutputTokens }),
    ...(temperature === undefined || refused.has("temperature") ? {} : { temperature }),
  }
}

/** Reads the reply to its end. `seen`: words had arrived, after which the client itself does not try again. */
async function complete(
  client: ModelClient,
  request: ModelRequest,
  signal: AbortSignal,
): Promise<{ readonly outcome: ModelOutcome; readonly seen: boolean }> {
  const stream = client.stream(request, { signal, brief: true })
  let seen = false
  for (;;) {
    const next = await stream.next()
    if (next.done === true) return { outcome: next.value, seen }
    seen ||= next.value.type === "text-delta"
  }
}

function answered(reply: ModelReply, runtime: ModelRuntime, { thoughtsWillDo }: Question): Asked {
  const said = reply.content?.trim() ?? ""
  const thought = thoughtsWillDo ? (reply.reasoning?.trim() ?? "") : ""
  const { toolCalls, usage } = reply
  // Thoughts before a call are no answer; the call is.
  const text = said === "" && toolCalls.length === 0 ? thought : said
  return { kind: "answered", text, toolCalls, usage, runtime }
}

function brokeOff({ provider, baseUrl }: ModelRuntime): string {
  return `${provider} at ${baseUrl} broke off its answer twice`
}

const CAPACITY: ReadonlySet<LlmFailure["reason"]> = new Set([
  "billing",
  "rate_limit",
  "overloaded",
  "server_error",
  "timeout",
])

function failed({ reason, message }: LlmFailure): Asked {
  const refused = reason === "auth" || reason === "auth_permanent"
  const restMs = reason === "billing" ? NO_CREDIT_REST_MS : refused ? MISSING_REST_MS : undefined
  return { kind: "failed", message, capacity: CAPACITY.has(reason), ...(restMs === undefined ? {} : { restMs }) }
}

const NAMES: Readonly<Record<Refusable, RegExp>> = {
  temperature: /\btemperature\b/i,
  maxOutputTokens: /\b(max_tokens|max_completion_tokens|max_output_tokens|maxOutputTokens|maxTokens)\b/,
}
const REFUSAL =
  /unsupported|not supported|not support|unknown|unrecognized|unexpected|not permitted|not allowed|deprecated/i

/**
 * The parameter that the server will not take, of those the request really had. Servers have no code for it that they agree
 * on, so their words must do.
 */
function refusedParameter({ status, detail }: LlmFailure, request: ModelRequest): Refusable | undefined {
  if ((status !== 400 && status !== 422) || !REFUSAL.test(detail)) return undefined
  if (request.temperature !== undefined && NAMES.temperature.test(detail)) return "temperature"
  return request.maxOutputTokens !== undefined && NAMES.maxOutputTokens.test(detail) ? "maxOutputTokens" : undefined
}
