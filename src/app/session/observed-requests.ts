import type { Clock } from "../../base/clock.ts"
import type { ModelClient, ModelOutcome, ModelRequest } from "../../llm/model.ts"
import type { HookPayload } from "../../plugins/hooks/hook-events.ts"
import type { HookRunner } from "../../plugins/hooks/hook-runner.ts"
import { randomHex } from "../../base/random-and-hash.ts"

interface ObservedRequestOptions {
  readonly runner: HookRunner
  readonly base: () => HookPayload
  readonly clock: Clock
  readonly redact: (text: string) => string
}

/** Calls the hooks around every request to the model. They only observe. */
export function observingRequests(model: ModelClient, options: ObservedRequestOptions): ModelClient {
  const { runner, base, clock } = options
  const stream: ModelClient["stream"] = async function* (request, how) {
    const started = clock.now()
    const facts = {
      ...base(),
      ...requestFacts(model, request),
      api_request_id: randomHex(6),
      started_at: started / 1000,
    }
    if (runner.has("pre_api_request"))
      await runner.observe("pre_api_request", { ...facts, request: shown(request, options) })
    const outcome = yield* model.stream(request, how)
    await report(outcome, { ...facts, api_duration: (clock.now() - started) / 1000 }, options)
    return outcome
  }
  return new Proxy(model, {
    get: (target, name) => (name === "stream" ? stream : bound(target, name)),
  })
}

function bound(target: ModelClient, name: string | symbol): unknown {
  const value: unknown = Reflect.get(target, name)
  return typeof value === "function" ? value.bind(target) : value
}

function requestFacts(
  { runtime }: ModelClient,
  { messages, tools, system, maxOutputTokens }: ModelRequest,
): HookPayload {
  const chars =
    system.length + messages.reduce((sum, { content }) => sum + (typeof content === "string" ? content.length : 0), 0)
  return {
    model: runtime.model,
    provider: runtime.provider,
    base_url: runtime.baseUrl,
    api_mode: runtime.wire,
    message_count: messages.length,
    tool_count: tools.length,
    approx_input_tokens: Math.ceil(chars / 4),
    max_tokens: maxOutputTokens ?? null,
  }
}

/** The request as text, so that no hook can change it. */
function shown(request: ModelRequest, { redact }: ObservedRequestOptions): string {
  return redact(JSON.stringify(request))
}

async function report(
  outcome: ModelOutcome,
  facts: HookPayload,
  { runner, redact }: ObservedRequestOptions,
): Promise<void> {
  if (outcome.kind === "reply" && runner.has("post_api_request")) {
    const { finishReason, usage, toolCalls } = outcome.reply
    await runner.observe("post_api_request", {
      ...facts,
      finish_reason: finishReason,
      usage: usage ?? null,
      response_model: facts["model"],
      assistant_tool_call_count: toolCalls.length,
    })
  }
  if (outcome.kind === "failed" && runner.has("api_request_error")) {
    const { status, reason, message, retryable } = outcome.failure
    await runner.observe("api_request_error", {
      ...facts,
      status: status ?? null,
      reason,
      retryable,
      error: redact(message),
    })
  }
}
