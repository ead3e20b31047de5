import type { Clock } from "../../base/clock.ts"
import type { ModelClient, ModelEvent, ModelOutcome, ModelRequest } from "../../llm/model.ts"
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
    const steps = model.stream(request, how)
    let retries = 0
    try {
      for (;;) {
        const step = await steps.next()
        if (step.done === true) {
          const ended = { ...facts, api_duration: (clock.now() - started) / 1000, retry_count: retries }
          await report(step.value, ended, options)
          return step.value
        }
        if (step.value.type === "retry") {
          retries += 1
          await reportRetry(step.value, { ...facts, retry_count: retries }, options)
        }
        yield step.value
      }
    } finally {
      // A reader that stops reading ends the request.
      await steps.return({ kind: "aborted" })
    }
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

/** A request that failed and is sent again. */
async function reportRetry(
  { reason, text }: Extract<ModelEvent, { type: "retry" }>,
  facts: HookPayload,
  { runner, redact }: ObservedRequestOptions,
): Promise<void> {
  if (!runner.has("api_request_error")) return
  await runner.observe("api_request_error", {
    ...facts,
    status: null,
    reason,
    retryable: true,
    will_retry: true,
    error: redact(text),
  })
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
      will_retry: false,
      error: redact(message),
    })
  }
}
