import { assertNever } from "../../../../src/base/assert-never.ts"
import { isRecord, parseJson, stringField } from "../../../../src/base/json.ts"
import type { Usage } from "../../../../src/protocol/usage.ts"
import { promptTokens } from "../../../../src/protocol/usage.ts"
import type { MessageView, RequestView } from "../recorded-request.ts"
import { partsText, recordsIn } from "../request-parts.ts"
import type { ResolvedReply, ResolvedBlock, Frame, Wire } from "../wire.ts"
import { corruptServerSentEvent, CREATED, eventFrame, pathOnly } from "../wire.ts"

/** OpenAI Responses. */
export const responses: Wire = {
  name: "responses",
  match: (path) => (pathOnly(path).endsWith("/responses") ? {} : undefined),
  streamType: () => "text/event-stream; charset=utf-8",
  requestIdHeader: "x-request-id",
  wantsStream: (body) => isRecord(body) && body["stream"] === true,
  stream,
  complete: (reply) => responseObject(reply, ending(reply)),
  failure: (status, message) => ({
    body: {
      error: {
        message,
        type: status === 429 ? "rate_limit_error" : status >= 500 ? "server_error" : "invalid_request_error",
        param: null,
        code: status === 429 ? "rate_limit_exceeded" : status === 401 ? "invalid_api_key" : null,
      },
    },
    headers: {},
  }),
  corrupt: corruptServerSentEvent,
  view,
}

function stream(reply: ResolvedReply): readonly Frame[] {
  const events = new EventSequence()
  const started = responseObject(reply, { status: "in_progress", incomplete_details: null, error: null })
  events.add("response.created", { response: started })
  events.add("response.in_progress", { response: started })
  for (const [index, block] of reply.blocks.entries()) addItem(events, { reply, block, index })
  if (reply.streamError === null) {
    const end = ending(reply)
    events.add(`response.${end.status}`, { response: responseObject(reply, end) })
  } else {
    const { type: code, message } = reply.streamError
    const failed = { status: "failed", incomplete_details: null, error: { code, message } } as const
    events.add("error", { code, message, param: null })
    events.add("response.failed", { response: responseObject(reply, failed) })
  }
  return events.frames
}

/** Numbers the events of a stream. */
class EventSequence {
  readonly frames: Frame[] = []

  add(type: string, fields: object): void {
    this.#push(type, fields, false)
  }

  addDelta(type: string, fields: object): void {
    this.#push(type, fields, true)
  }

  #push(type: string, fields: object, delta: boolean): void {
    this.frames.push(eventFrame(type, JSON.stringify({ type, sequence_number: this.frames.length, ...fields }), delta))
  }
}

interface ItemContext {
  readonly reply: ResolvedReply
  readonly block: ResolvedBlock
  readonly index: number
}

function addItem(events: EventSequence, context: ItemContext): void {
  const done = itemOf(context)
  const position = { item_id: done.id, output_index: context.index }
  events.add("response.output_item.added", { output_index: context.index, item: openedItem(done, context.block) })
  addItemContent(events, position, context.block)
  events.add("response.output_item.done", { output_index: context.index, item: done })
}

function openedItem(done: object, block: ResolvedBlock): object {
  switch (block.kind) {
    case "reasoning":
    case "redacted":
      return { ...done, summary: [] }
    case "text":
    case "refusal":
      return { ...done, status: "in_progress", content: [] }
    case "call":
      return { ...done, status: "in_progress", arguments: "" }
    default:
      return assertNever(block)
  }
}

function addItemContent(events: EventSequence, position: object, block: ResolvedBlock): void {
  switch (block.kind) {
    case "redacted":
      return
    case "reasoning": {
      const part = { ...position, summary_index: 0 }
      const text = block.deltas.join("")
      events.add("response.reasoning_summary_part.added", { ...part, part: { type: "summary_text", text: "" } })
      for (const piece of block.deltas) {
        events.addDelta("response.reasoning_summary_text.delta", { ...part, delta: piece })
      }
      events.add("response.reasoning_summary_text.done", { ...part, text })
      events.add("response.reasoning_summary_part.done", { ...part, part: { type: "summary_text", text } })
      return
    }
    case "text": {
      const part = { ...position, content_index: 0 }
      const text = block.deltas.join("")
      events.add("response.content_part.added", { ...part, part: outputText("") })
      for (const piece of block.deltas) {
        events.addDelta("response.output_text.delta", { ...part, delta: piece, logprobs: [] })
      }
      events.add("response.output_text.done", { ...part, text, logprobs: [] })
      events.add("response.content_part.done", { ...part, part: outputText(text) })
      return
    }
    case "refusal": {
      const part = { ...position, content_index: 0 }
      events.add("response.content_part.added", { ...part, part: { type: "refusal", refusal: "" } })
      events.addDelta("response.refusal.delta", { ...part, delta: block.text })
      events.add("response.refusal.done", { ...part, refusal: block.text })
      events.add("response.content_part.done", { ...part, part: { type: "refusal", refusal: block.text } })
      return
    }
    case "call":
      for (const piece of block.call.fragments) {
        events.addDelta("response.function_call_arguments.delta", { ...position, delta: piece })
      }
      events.add("response.function_call_arguments.done", { ...position, arguments: block.call.json })
      return
    default:
      assertNever(block)
  }
}

function itemOf({ reply, block, index }: ItemContext): { readonly id: string; readonly [key: string]: unknown } {
  const serial = `${reply.serial}_${index}`
  switch (block.kind) {
    case "reasoning": {
      const summary = [{ type: "summary_text", text: block.deltas.join("") }]
      const encrypted = wantsEncrypted(reply.body) ? { encrypted_content: block.signature } : {}
      return { id: `rs_${serial}`, type: "reasoning", ...encrypted, summary }
    }
    case "redacted":
      return { id: `rs_${serial}`, type: "reasoning", encrypted_content: block.data, summary: [] }
    case "text":
      return messageItem(serial, outputText(block.deltas.join("")))
    case "refusal":
      return messageItem(serial, { type: "refusal", refusal: block.text })
    case "call": {
      const { call } = block
      return {
        id: `fc_${call.serial}`,
        type: "function_call",
        status: "completed",
        arguments: call.json,
        call_id: call.id ?? `call_${call.serial}`,
        name: call.name,
      }
    }
    default:
      return assertNever(block)
  }
}

function messageItem(serial: string, part: object): { readonly id: string } {
  const item = { id: `msg_${serial}`, type: "message", status: "completed", content: [part], role: "assistant" }
  return item
}

function outputText(text: string): object {
  return { type: "output_text", annotations: [], logprobs: [], text }
}

function wantsEncrypted(body: unknown): boolean {
  const include = isRecord(body) ? body["include"] : undefined
  return Array.isArray(include) && include.includes("reasoning.encrypted_content")
}

interface Ending {
  readonly status: "in_progress" | "completed" | "incomplete" | "failed"
  readonly incomplete_details: { readonly reason: string } | null
  readonly error: { readonly code: string; readonly message: string } | null
}

function ending(reply: ResolvedReply): Ending {
  const incomplete = (reason: string | null): Ending => ({
    status: "incomplete",
    incomplete_details: reason === null ? null : { reason },
    error: null,
  })
  switch (reply.finish) {
    case "stop":
    case "tool_calls":
      return { status: "completed", incomplete_details: null, error: null }
    case "length":
      return incomplete("max_output_tokens")
    case "content_filter":
      // A refusal is a complete reply. Only the content filter ends a reply early.
      return reply.blocks.some((block) => block.kind === "refusal")
        ? { status: "completed", incomplete_details: null, error: null }
        : incomplete("content_filter")
    case "incomplete":
      return incomplete(null)
    default:
      return assertNever(reply.finish)
  }
}

/** The response object repeats the settings of the request. */
function responseObject(reply: ResolvedReply, end: Ending): object {
  const request = isRecord(reply.body) ? reply.body : {}
  const isOpen = end.status === "in_progress"
  return {
    id: `resp_${reply.serial}`,
    object: "response",
    created_at: CREATED,
    status: end.status,
    background: false,
    error: end.error,
    incomplete_details: end.incomplete_details,
    instructions: request["instructions"] ?? null,
    max_output_tokens: request["max_output_tokens"] ?? null,
    max_tool_calls: null,
    model: reply.model,
    output: isOpen ? [] : reply.blocks.map((block, index) => itemOf({ reply, block, index })),
    parallel_tool_calls: request["parallel_tool_calls"] ?? true,
    previous_response_id: null,
    prompt_cache_key: request["prompt_cache_key"] ?? null,
    reasoning: request["reasoning"] ?? { effort: null, summary: null },
    safety_identifier: null,
    service_tier: isOpen ? "auto" : "default",
    store: request["store"] ?? true,
    temperature: request["temperature"] ?? 1,
    text: { format: { type: "text" }, verbosity: "medium" },
    tool_choice: request["tool_choice"] ?? "auto",
    tools: request["tools"] ?? [],
    top_logprobs: 0,
    top_p: 1,
    truncation: "disabled",
    usage: isOpen || end.status === "failed" || reply.usage === null ? null : usageBody(reply.usage),
    user: null,
    metadata: {},
  }
}

function usageBody(usage: Usage): object {
  const input = promptTokens(usage)
  return {
    input_tokens: input,
    input_tokens_details: { cached_tokens: usage.cacheRead, cache_write_tokens: usage.cacheWrite },
    output_tokens: usage.output,
    output_tokens_details: { reasoning_tokens: usage.reasoning },
    total_tokens: input + usage.output,
  }
}

function view(body: unknown): RequestView {
  const input = isRecord(body) ? body["input"] : undefined
  const items: readonly Record<string, unknown>[] =
    typeof input === "string" ? [{ role: "user", content: input }] : recordsIn(body, "input")
  return {
    model: stringField(body, "model") ?? "",
    system: [
      stringField(body, "instructions") ?? "",
      ...items.filter(isSystem).map((item) => partsText(item["content"])),
    ]
      .filter((text) => text !== "")
      .join("\n"),
    tools: recordsIn(body, "tools").map((tool) => stringField(tool, "name") ?? ""),
    messages: items.filter((item) => !isSystem(item)).flatMap(itemView),
  }
}

function isSystem(item: Record<string, unknown>): boolean {
  return item["role"] === "system" || item["role"] === "developer"
}

function itemView(item: Record<string, unknown>): MessageView[] {
  const callId = stringField(item, "call_id") ?? ""
  switch (item["type"]) {
    case "reasoning":
      return []
    case "function_call": {
      const text = stringField(item, "arguments") ?? ""
      const call = { id: callId, name: stringField(item, "name") ?? "", input: parseJson(text) ?? text }
      return [{ role: "assistant", text: "", calls: [call], results: [] }]
    }
    case "function_call_output":
      return [{ role: "user", text: "", calls: [], results: [{ id: callId, text: partsText(item["output"]) }] }]
    default:
      return [
        {
          role: item["role"] === "assistant" ? "assistant" : "user",
          text: partsText(item["content"]),
          calls: [],
          results: [],
        },
      ]
  }
}
