import type { Message, ToolCall } from "../../protocol/message.ts"
import type { ToolDefinition } from "../../protocol/tool.ts"
import type { Usage } from "../../protocol/usage.ts"
import type { LlmFailure } from "../failure/failure.ts"
import type { ModelClient, ModelOutcome, ModelReply, ModelRequest, ModelRuntime } from "../model.ts"
import { NO_CREDENTIAL_COOLDOWN_MS, NO_CREDIT_COOLDOWN_MS } from "./cooldowns.ts"

/** Parameters that some servers reject and that a request works without. */
export type OptionalParameter = "temperature" | "maxOutputTokens"

export interface AuxiliaryRequest {
  readonly system: string
  readonly messages: readonly Message[]
  readonly tools: readonly ToolDefinition[]
  readonly maxOutputTokens?: number
  readonly temperature?: number
  /** Use the reasoning as the reply text when the model returned no other text. */
  readonly acceptReasoning: boolean
  /** Parameters that this server rejected before; new rejections are added. */
  readonly rejectedParameters: Set<OptionalParameter>
  readonly signal: AbortSignal
}

export type AuxiliaryOutcome =
  | {
      readonly kind: "reply"
      readonly text: string
      readonly toolCalls: readonly ToolCall[]
      /** Undefined when the server reported none. */
      readonly usage: Usage | undefined
      readonly runtime: ModelRuntime
    }
  | {
      readonly kind: "failed"
      readonly message: string
      /** The model is temporarily unavailable; another one may work. */
      readonly capacity: boolean
      /** How long to skip this endpoint. */
      readonly cooldownMs?: number
    }
  | { readonly kind: "aborted" }

/** Sends one request to one model. The partial reply is not shown to the user, so a reply that broke off is retried once. */
export async function sendAuxiliaryRequest(client: ModelClient, call: AuxiliaryRequest): Promise<AuxiliaryOutcome> {
  for (let failures = 0; ;) {
    const request = modelRequest(call, client.runtime)
    const { outcome, textArrived } = await readReply(client, request, call.signal)
    if (outcome.kind === "aborted") return outcome
    if (outcome.kind === "reply") {
      if (outcome.reply.ending === "complete") return replyOutcome(outcome.reply, client.runtime, call)
      failures += 1
      if (failures > 1) return { kind: "failed", message: brokenReply(client.runtime), capacity: true }
      continue
    }
    const rejected = rejectedParameter(outcome.failure, request)
    if (rejected !== undefined) {
      call.rejectedParameters.add(rejected)
      continue
    }
    failures += 1
    if (failures > 1 || !textArrived || !outcome.failure.retryable) return failedOutcome(outcome.failure)
  }
}

function modelRequest(call: AuxiliaryRequest, { model }: ModelRuntime): ModelRequest {
  const { system, messages, tools, maxOutputTokens, temperature, rejectedParameters: refused } = call
  return {
    model,
    system,
    messages,
    tools,
    ...(maxOutputTokens === undefined || refused.has("maxOutputTokens") ? {} : { maxOutputTokens }),
    ...(temperature === undefined || refused.has("temperature") ? {} : { temperature }),
  }
}

/** Reads the reply to its end. `textArrived`: text was streamed, after which the client itself does not retry. */
async function readReply(
  client: ModelClient,
  request: ModelRequest,
  signal: AbortSignal,
): Promise<{ readonly outcome: ModelOutcome; readonly textArrived: boolean }> {
  const stream = client.stream(request, { signal, auxiliary: true })
  let textArrived = false
  for (;;) {
    const next = await stream.next()
    if (next.done === true) return { outcome: next.value, textArrived }
    textArrived ||= next.value.type === "text-delta"
  }
}

function replyOutcome(
  reply: ModelReply,
  runtime: ModelRuntime,
  { acceptReasoning }: AuxiliaryRequest,
): AuxiliaryOutcome {
  const content = reply.content?.trim() ?? ""
  const reasoning = acceptReasoning ? (reply.reasoning?.trim() ?? "") : ""
  const { toolCalls, usage } = reply
  // Reasoning before a tool call is not the reply; the call is.
  const text = content === "" && toolCalls.length === 0 ? reasoning : content
  return { kind: "reply", text, toolCalls, usage, runtime }
}

function brokenReply({ provider, baseUrl }: ModelRuntime): string {
  return `${provider} at ${baseUrl} sent an incomplete reply twice`
}

const CAPACITY: ReadonlySet<LlmFailure["reason"]> = new Set([
  "billing",
  "rate_limit",
  "overloaded",
  "server_error",
  "timeout",
])

function failedOutcome({ reason, message }: LlmFailure): AuxiliaryOutcome {
  const noCredential = reason === "auth" || reason === "auth_permanent"
  const cooldownMs = reason === "billing" ? NO_CREDIT_COOLDOWN_MS : noCredential ? NO_CREDENTIAL_COOLDOWN_MS : undefined
  return {
    kind: "failed",
    message,
    capacity: CAPACITY.has(reason),
    ...(cooldownMs === undefined ? {} : { cooldownMs }),
  }
}

const PARAMETER_NAMES: Readonly<Record<OptionalParameter, RegExp>> = {
  temperature: /\btemperature\b/i,
  maxOutputTokens: /\b(max_tokens|max_completion_tokens|max_output_tokens|maxOutputTokens|maxTokens)\b/,
}
const REJECTION =
  /unsupported|not supported|not support|unknown|unrecognized|unexpected|not permitted|not allowed|deprecated/i

/** Returns the parameter of the request that the server rejected. Servers share no error code for this, so match the text. */
function rejectedParameter({ status, detail }: LlmFailure, request: ModelRequest): OptionalParameter | undefined {
  if ((status !== 400 && status !== 422) || !REJECTION.test(detail)) return undefined
  if (request.temperature !== undefined && PARAMETER_NAMES.temperature.test(detail)) return "temperature"
  return request.maxOutputTokens !== undefined && PARAMETER_NAMES.maxOutputTokens.test(detail)
    ? "maxOutputTokens"
    : undefined
}
