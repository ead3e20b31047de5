import { isRecord, parseJson } from "../../../base/json.ts"
import { oncePerObject } from "../../../base/once-per-object.ts"
import type { ToolDefinition } from "../../../protocol/tool.ts"
import type { ModelRequest } from "../../model.ts"
import { cleanText } from "../request-text.ts"
import { createHistoryEncoder } from "./history.ts"
import { anthropicModelName, anthropicParameters, claudeVersion, hasThinkingBudget } from "./parameters.ts"
import { cacheLayout, isAnthropic, isAws, isAzure, isMiniMax, thinkingPolicy } from "./endpoint-traits.ts"
import { finishReply } from "./reply.ts"
import { INITIAL_STATE, decodeFrame, errorBody, stateOfCompleteMessage } from "./stream.ts"
import type { AnthropicState } from "./stream.ts"
import type { Wire, WireEndpoint } from "../wire.ts"

export interface AnthropicMessagesOptions {
  readonly version?: string
  /** Beta features in addition to those that this format always requests. */
  readonly betas?: readonly string[]
  /** False when the account may not use the long context. */
  readonly longContext?: boolean
}

/** The Anthropic Messages API, at Anthropic and at compatible servers. */
export function createAnthropicMessagesWire(
  endpoint: WireEndpoint,
  options: AnthropicMessagesOptions,
): Wire<AnthropicState> {
  const encodeHistory = createHistoryEncoder()
  const thinking = thinkingPolicy(endpoint)
  const replyOptions = { signatures: thinking === "unsigned" ? "dropped" : "kept" } as const
  const encodeTools = oncePerObject((tools: readonly ToolDefinition[]) => JSON.stringify(wireTools(tools)))
  /**
   * With a thinking budget a tool loop must begin with thinking, else the server rejects the request; with adaptive thinking it need not.
   * Models of other vendors that never get their thinking back do not check.
   */
  const requiresThinking = (request: ModelRequest): boolean =>
    hasThinkingBudget(request, endpoint) && (thinking !== "drop" || claudeVersion(request.model) !== undefined)

  return {
    framing: "sse",
    path: () => messagesPath(endpoint),
    headers: (request) => ({
      "anthropic-version": options.version ?? "2023-06-01",
      "anthropic-beta": betasFor(request, endpoint, options).join(","),
    }),
    encode: (request) => {
      const fast = isFast(request, endpoint, options) ? { speed: "fast" } : {}
      const cache = cacheOf(request, endpoint)
      const system = systemText(request)
      const conversation = request.messages.filter((message) => message.role !== "system")
      const layout = { ...cache, markers: system === "" ? 4 : 3 }
      const withoutThinking =
        requiresThinking(request) && encodeHistory(conversation, { thinking, cache: layout }).loopLacksThinking()
      const parameters = anthropicParameters(withoutThinking ? { ...request, effort: "none" } : request, endpoint)
      const head = JSON.stringify({ ...parameters, stream: true, ...fast }).slice(0, -1)
      // The server also rejects thinking blocks in the current turn of a request that disables thinking.
      const history = encodeHistory(conversation, { thinking: withoutThinking ? "drop" : thinking, cache: layout })
      const tools = toolsJson(request, endpoint, encodeTools)
      return { head: `${head}${tools}${systemJson(system, cache)},"messages":[`, preface: "", history }
    },
    start: () => INITIAL_STATE,
    decode: decodeFrame,
    // The stream itself contains its end, so the state of the connection does not matter.
    finish: (state) => finishReply(state, replyOptions),
    decodeComplete: (body) => {
      const message = parseJson(body)
      if (!isRecord(message)) return { kind: "unusable", received: "something that is not JSON", notModelServer: true }
      if (isRecord(message["error"])) return { kind: "error", body: errorBody(message) }
      const content = message["content"]
      if (!Array.isArray(content)) return { kind: "unusable", received: "JSON without content" }
      return finishReply(stateOfCompleteMessage(message, content), replyOptions)
    },
  }
}

/** Sends the key as a bearer token for OAuth logins and for the servers that require it, else as `x-api-key`. */
export function anthropicCredentialHeaders(
  endpoint: WireEndpoint,
  key: string,
  { oauth }: { readonly oauth: boolean },
): Record<string, string> {
  return oauth || isMiniMax(endpoint) || isAzure(endpoint) ? { authorization: `Bearer ${key}` } : { "x-api-key": key }
}

/** The path relative to the base URL, which may already end in `/v1`. */
function messagesPath(endpoint: WireEndpoint): string {
  const base = (endpoint.baseUrl.split("?", 1)[0] ?? "").replace(/\/+$/, "")
  const path = base.endsWith("/v1") ? "/messages" : "/v1/messages"
  return isAzure(endpoint) && !endpoint.baseUrl.includes("api-version=") ? `${path}?api-version=2025-04-15` : path
}

const LONG_CONTEXT = "context-1m-2025-08-07"
const FAST_MODE = "fast-mode-2026-02-01"

function betasFor(request: ModelRequest, endpoint: WireEndpoint, options: AnthropicMessagesOptions): readonly string[] {
  const betas = new Set(["interleaved-thinking-2025-05-14"])
  if (!isMiniMax(endpoint)) betas.add("fine-grained-tool-streaming-2025-05-14")
  if (isAzure(endpoint) || isAws(endpoint)) betas.add(LONG_CONTEXT)
  for (const beta of options.betas ?? []) betas.add(beta)
  if (options.longContext === false) betas.delete(LONG_CONTEXT)
  if (!isFast(request, endpoint, options)) betas.delete(FAST_MODE)
  return [...betas]
}

/** Fast mode needs a beta header and a field of the body. Only one model supports it. */
function isFast(request: ModelRequest, endpoint: WireEndpoint, options: AnthropicMessagesOptions): boolean {
  const requested = options.betas?.includes(FAST_MODE) ?? false
  return requested && anthropicModelName(request.model, endpoint).includes("opus-4-6")
}

interface Cache {
  readonly layout: ReturnType<typeof cacheLayout>
  readonly marker: string
}

function cacheOf(request: ModelRequest, endpoint: WireEndpoint): Cache {
  if (request.cacheTtl === undefined) return { layout: "none", marker: "" }
  const marker = request.cacheTtl === "1h" ? { type: "ephemeral", ttl: "1h" } : { type: "ephemeral" }
  return { layout: cacheLayout(endpoint, request.model), marker: JSON.stringify(marker) }
}

function systemText(request: ModelRequest): string {
  const later = request.messages.filter((message) => message.role === "system").map(({ content }) => content)
  return [request.system, ...later]
    .map(cleanText)
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
 * With `tool_choice: none` Anthropic keeps the declared tools in its prompt cache. Other servers do not support that
 * choice, so for them the tools are omitted.
 */
function toolsJson(
  request: ModelRequest,
  endpoint: WireEndpoint,
  encodeTools: (tools: readonly ToolDefinition[]) => string,
): string {
  const choice = request.toolChoice ?? "auto"
  if (request.tools.length === 0 || (choice === "none" && !isAnthropic(endpoint))) return ""
  const type = choice === "required" ? "any" : choice
  return `,"tool_choice":{"type":"${type}"},"tools":${encodeTools(request.tools)}`
}

/** The server rejects duplicate names; the first tool of a name wins. */
function wireTools(tools: readonly ToolDefinition[]): readonly unknown[] {
  const byName = new Map(tools.toReversed().map((tool) => [tool.name, tool]))
  return tools
    .filter((tool) => byName.get(tool.name) === tool)
    .map(({ name, description, parameters }) => ({ name, description, input_schema: parameters }))
}
