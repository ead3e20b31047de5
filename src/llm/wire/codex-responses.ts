import { scrubSurrogates } from "../../base/text.ts"
import type { ToolDefinition } from "../../protocol/tool.ts"
import type { ModelRequest } from "../model.ts"
import type { CodexEndpoint } from "./codex-endpoint.ts"
import { codexEndpoint } from "./codex-endpoint.ts"
import { createInputWriter } from "./codex-input.ts"
import type { ResponsesState } from "./codex-output.ts"
import { decodeFrame, finishResponse, NO_OUTPUT, readWholeResponse } from "./codex-output.ts"
import { schemaForXai } from "./codex-tool-schema.ts"
import type { Wire, WirePlace } from "./wire.ts"

/** OpenAI Responses, stateless (`store: false`): reasoning travels encrypted and comes back with the next request. */
export function createCodexResponsesWire(place: WirePlace): Wire<ResponsesState> {
  const endpoint = codexEndpoint(place)
  const writeInput = createInputWriter(endpoint)
  const encodedTools = new WeakMap<readonly ToolDefinition[], string>()

  const encodeToolsOnce = (tools: readonly ToolDefinition[]): string => {
    const known = encodedTools.get(tools)
    if (known !== undefined) return known
    const bytes = JSON.stringify(tools.map((tool) => wireTool(tool, endpoint)))
    encodedTools.set(tools, bytes)
    return bytes
  }

  return {
    framing: "sse",
    textResults: endpoint.vendor === "xai",
    path: () => "/responses",
    headers: ({ conversationId }) =>
      endpoint.vendor === "xai" && conversationId !== undefined ? { "x-grok-conv-id": conversationId } : {},
    encode: (request) => {
      refuseUnknownFields(request)
      const head = JSON.stringify({
        model: request.model,
        stream: true,
        store: false,
        instructions: scrubSurrogates(request.system).trim() || IDENTITY,
        ...reasoningFields(request, endpoint),
        ...limitFields(request, endpoint),
        ...cacheFields(request, endpoint),
      }).slice(0, -1)
      const tools =
        request.tools.length === 0
          ? ""
          : `,"tools":${encodeToolsOnce(request.tools)},"tool_choice":"${request.toolChoice ?? "auto"}","parallel_tool_calls":true`
      return `${head}${tools},"input":${writeInput(request.messages)}}`
    },
    start: () => NO_OUTPUT,
    decode: decodeFrame,
    finish: (state, how) => finishResponse(state, { ...how, issuerKind: endpoint.issuerKind }),
    decodeWhole: (body) => readWholeResponse(body, endpoint.issuerKind),
  }
}

/** The back end of ChatGPT refuses a request without instructions. */
const IDENTITY = "You are Hermes, a personal AI agent."

/** The body is made of exactly these; a field this wire has no words for is a mistake of ours and must not vanish silently. */
const KNOWN_FIELDS: Readonly<Record<string, true>> = {
  model: true,
  system: true,
  messages: true,
  tools: true,
  maxOutputTokens: true,
  temperature: true,
  effort: true,
  toolChoice: true,
  conversationId: true,
  cacheTtl: true,
} satisfies Record<keyof ModelRequest, true>

function refuseUnknownFields(request: ModelRequest): void {
  const unknown = Object.keys(request).filter((field) => KNOWN_FIELDS[field] === undefined)
  if (unknown.length > 0)
    throw new TypeError(`the Responses wire does not know the request field ${unknown.join(", ")}`)
}

function reasoningFields(request: ModelRequest, endpoint: CodexEndpoint): object {
  const model = request.model.slice(request.model.lastIndexOf("/") + 1).toLowerCase()
  if (request.effort === "none" || NEVER_REASONS.test(model)) return { include: [] }
  const include = ["reasoning.encrypted_content"]
  const effort = request.effort === "minimal" ? "low" : request.effort
  if (endpoint.vendor === "xai") {
    return effort !== undefined && XAI_TAKES_EFFORT.test(model) ? { reasoning: { effort }, include } : { include }
  }
  return { reasoning: { ...(effort === undefined ? {} : { effort }), summary: "auto" }, include }
}

/** The vendor refuses reasoning parameters for these. */
const NEVER_REASONS = /^(?:gpt-3|gpt-4|chatgpt-|gpt-5-chat)/

const XAI_TAKES_EFFORT = /^grok-(?:3-mini|4\.20-multi-agent|4\.3)/

function limitFields(request: ModelRequest, endpoint: CodexEndpoint): object {
  if (endpoint.vendor === "codex-backend") return {}
  return {
    ...(request.maxOutputTokens === undefined ? {} : { max_output_tokens: request.maxOutputTokens }),
    ...(request.temperature === undefined ? {} : { temperature: request.temperature }),
  }
}

function cacheFields(request: ModelRequest, endpoint: CodexEndpoint): object {
  if (request.conversationId === undefined || endpoint.vendor === "github") return {}
  return { prompt_cache_key: request.conversationId }
}

function wireTool(tool: ToolDefinition, endpoint: CodexEndpoint): object {
  return {
    type: "function",
    name: tool.name,
    description: tool.description,
    parameters: endpoint.vendor === "xai" ? schemaForXai(tool.parameters) : tool.parameters,
    strict: false,
  }
}
