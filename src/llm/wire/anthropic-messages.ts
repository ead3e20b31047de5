import { isRecord, parseJson } from "../../base/json.ts"
import { scrubSurrogates } from "../../base/text.ts"
import type { ToolDefinition } from "../../protocol/tool.ts"
import type { ModelRequest } from "../model.ts"
import { createHistoryEncoder } from "./anthropic-history.ts"
import { anthropicModelName, anthropicParameters } from "./anthropic-parameters.ts"
import { cacheLayout, isAnthropic, isAws, isAzure, isMiniMax, thinkingPolicy } from "./anthropic-places.ts"
import { finishReply } from "./anthropic-reply.ts"
import { NOTHING_YET, decodeFrame, errorBody, stateOfWhole } from "./anthropic-stream.ts"
import type { AnthropicState } from "./anthropic-stream.ts"
import type { Wire, WirePlace } from "./wire.ts"

export interface AnthropicMessagesOptions {
  readonly version?: string
  /** In addition to those that this wire always asks for. */
  readonly betas?: readonly string[]
  /** False where the login may not have the longer context. */
  readonly longContext?: boolean
}

/** Anthropic Messages, at Anthropic and at the servers that speak the same. */
export function createAnthropicMessagesWire(place: WirePlace, options: AnthropicMessagesOptions): Wire<AnthropicState> {
  const history = createHistoryEncoder()
  const thinking = thinkingPolicy(place)
  const replyOptions = { signatures: thinking === "unsigned" ? "dropped" : "kept" } as const
  const encodedTools = new WeakMap<readonly ToolDefinition[], string>()

  const encodeToolsOnce = (tools: readonly ToolDefinition[]): string => {
    const known = encodedTools.get(tools)
    if (known !== undefined) return known
    const bytes = JSON.stringify(wireTools(tools))
    encodedTools.set(tools, bytes)
    return bytes
  }

  return {
    framing: "sse",
    path: () => messagesPath(place),
    headers: (request) => ({
      "anthropic-version": options.version ?? "2023-06-01",
      "anthropic-beta": betasFor(request, place, options).join(","),
    }),
    encode: (request) => {
      const fast = isFast(request, place, options) ? { speed: "fast" } : {}
      const head = JSON.stringify({ ...anthropicParameters(request, place), stream: true, ...fast }).slice(0, -1)
      const cache = cacheOf(request, place)
      const system = systemText(request)
      const messages = history.encode(
        request.messages.filter((message) => message.role !== "system"),
        { thinking, cache: { ...cache, markers: system === "" ? 4 : 3 } },
      )
      const tools = toolsJson(request, place, encodeToolsOnce)
      return `${head}${tools}${systemJson(system, cache)},"messages":[${messages}]}`
    },
    start: () => NOTHING_YET,
    decode: decodeFrame,
    // A stream that was finished says so itself; how the connection ended adds nothing.
    finish: (state) => finishReply(state, replyOptions),
    decodeWhole: (body) => {
      const message = parseJson(body)
      if (!isRecord(message)) return { kind: "nothing", why: "something that is not JSON", foreign: true }
      if (isRecord(message["error"])) return { kind: "error", body: errorBody(message) }
      const content = message["content"]
      if (!Array.isArray(content)) return { kind: "nothing", why: "JSON without content" }
      return finishReply(stateOfWhole(message, content), replyOptions)
    },
  }
}

/** How the key travels: as a bearer token for sign-ins and for the servers that want it so, else in the header of this wire. */
export function anthropicCredentialHeaders(
  place: WirePlace,
  key: string,
  { oauth }: { readonly oauth: boolean },
): Record<string, string> {
  return oauth || isMiniMax(place) || isAzure(place) ? { authorization: `Bearer ${key}` } : { "x-api-key": key }
}

/** Relative to a base that may or may not end in `/v1` already. */
function messagesPath(place: WirePlace): string {
  const base = (place.baseUrl.split("?", 1)[0] ?? "").replace(/\/+$/, "")
  const path = base.endsWith("/v1") ? "/messages" : "/v1/messages"
  return isAzure(place) && !place.baseUrl.includes("api-version=") ? `${path}?api-version=2025-04-15` : path
}

const LONG_CONTEXT = "context-1m-2025-08-07"
const FAST_MODE = "fast-mode-2026-02-01"

function betasFor(request: ModelRequest, place: WirePlace, options: AnthropicMessagesOptions): readonly string[] {
  const betas = new Set(["interleaved-thinking-2025-05-14"])
  if (!isMiniMax(place)) betas.add("fine-grained-tool-streaming-2025-05-14")
  if (isAzure(place) || isAws(place)) betas.add(LONG_CONTEXT)
  for (const beta of options.betas ?? []) betas.add(beta)
  if (options.longContext === false) betas.delete(LONG_CONTEXT)
  if (!isFast(request, place, options)) betas.delete(FAST_MODE)
  return [...betas]
}

/** Fast mode is a beta and a field of the body; only one model has it. */
function isFast(request: ModelRequest, place: WirePlace, options: AnthropicMessagesOptions): boolean {
  const asked = options.betas?.includes(FAST_MODE) ?? false
  return asked && anthropicModelName(request.model, place).includes("opus-4-6")
}

interface Cache {
  readonly layout: ReturnType<typeof cacheLayout>
  readonly marker: string
}

function cacheOf(request: ModelRequest, place: WirePlace): Cache {
  if (request.cacheTtl === undefined) return { layout: "none", marker: "" }
  const marker = request.cacheTtl === "1h" ? { type: "ephemeral", ttl: "1h" } : { type: "ephemeral" }
  return { layout: cacheLayout(place, request.model), marker: JSON.stringify(marker) }
}

function systemText(request: ModelRequest): string {
  const said = request.messages.flatMap((message) => (message.role === "system" ? [message.content] : []))
  return [request.system, ...said]
    .map((text) => scrubSurrogates(text).trim())
    .filter((text) => text !== "")
    .join("\n\n")
}

function systemJson(system: string, cache: Cache): string {
  if (system === "") return ""
  const text = JSON.stringify(system)
  return cache.layout === "none"
    ? `,"system":${text}`
    : `,"system":[{"type":"text","text":${text},"cache_control":${cache.marker}}]`
}

/**
 * Anthropic can be told to leave declared tools alone, and keeps what it cached of them. Other servers do not know that choice:
 * there the tools are left out.
 */
function toolsJson(
  request: ModelRequest,
  place: WirePlace,
  encodeTools: (tools: readonly ToolDefinition[]) => string,
): string {
  const choice = request.toolChoice ?? "auto"
  if (request.tools.length === 0 || (choice === "none" && !isAnthropic(place))) return ""
  const type = choice === "required" ? "any" : choice
  return `,"tool_choice":{"type":"${type}"},"tools":${encodeTools(request.tools)}`
}

/** The schemas are clean already; a name given twice would be refused. */
function wireTools(tools: readonly ToolDefinition[]): readonly unknown[] {
  const byName = new Map(tools.toReversed().map((tool) => [tool.name, tool]))
  return tools
    .filter((tool) => byName.get(tool.name) === tool)
    .map(({ name, description, parameters }) => ({ name, description, input_schema: parameters }))
}
