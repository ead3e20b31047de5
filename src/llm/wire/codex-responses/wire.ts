import { oncePerObject } from "../../../base/once-per-object.ts"
import type { ToolDefinition } from "../../../protocol/tool.ts"
import type { ModelRequest } from "../../model.ts"
import type { EndpointTraits } from "./endpoint-traits.ts"
import { endpointTraits } from "./endpoint-traits.ts"
import { createInputEncoder } from "./input.ts"
import type { ResponsesState } from "./stream.ts"
import { decodeFrame, finishResponse, INITIAL_STATE, decodeCompleteResponse } from "./stream.ts"
import { schemaForXai } from "./xai-schema.ts"
import { cleanText } from "../request-text.ts"
import type { Wire, WireEndpoint } from "../wire.ts"

/**
 * The OpenAI Responses API without server state (`store: false`): encrypted reasoning is sent back with the next
 * request.
 */
export function createCodexResponsesWire(endpoint: WireEndpoint): Wire<ResponsesState> {
  const traits = endpointTraits(endpoint)
  const encodeInput = createInputEncoder(traits)
  const encodeTools = oncePerObject((tools: readonly ToolDefinition[]) =>
    JSON.stringify(tools.map((tool) => wireTool(tool, traits))),
  )

  return {
    framing: "sse",
    textOnlyToolResults: traits.vendor === "xai",
    path: () => "/responses",
    headers: ({ conversationId }) =>
      traits.vendor === "xai" && conversationId !== undefined ? { "x-grok-conv-id": conversationId } : {},
    encode: (request) => {
      rejectUnknownFields(request)
      const head = JSON.stringify({
        model: request.model,
        stream: true,
        store: false,
        instructions: cleanText(request.system) || IDENTITY,
        ...reasoningFields(request, traits),
        ...limitFields(request, traits),
        ...cacheFields(request, traits),
      }).slice(0, -1)
      const tools =
        request.tools.length === 0
          ? ""
          : `,"tools":${encodeTools(request.tools)},"tool_choice":"${request.toolChoice ?? "auto"}","parallel_tool_calls":true`
      return { head: `${head}${tools},"input":[`, preface: "", history: encodeInput(request.messages) }
    },
    start: () => INITIAL_STATE,
    decode: decodeFrame,
    finish: (state, connection) => finishResponse(state, { ...connection, issuerKind: traits.issuerKind }),
    decodeComplete: (body) => decodeCompleteResponse(body, traits.issuerKind),
  }
}

/** The ChatGPT backend rejects a request without instructions. */
const IDENTITY = "You are Hermes, a personal AI agent."

/** The request fields that this format encodes. An unknown field is a bug and must not be dropped silently. */
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

function rejectUnknownFields(request: ModelRequest): void {
  const unknown = Object.keys(request).filter((field) => KNOWN_FIELDS[field] === undefined)
  if (unknown.length > 0)
    throw new TypeError(`the Responses wire format cannot encode the request field ${unknown.join(", ")}`)
}

function reasoningFields(request: ModelRequest, traits: EndpointTraits): object {
  const model = request.model.slice(request.model.lastIndexOf("/") + 1).toLowerCase()
  if (request.effort === "none" || WITHOUT_REASONING.test(model)) return { include: [] }
  const include = ["reasoning.encrypted_content"]
  const effort = request.effort === "minimal" ? "low" : request.effort
  if (traits.vendor === "xai") {
    return effort !== undefined && XAI_WITH_EFFORT.test(model) ? { reasoning: { effort }, include } : { include }
  }
  return { reasoning: { ...(effort === undefined ? {} : { effort }), summary: "auto" }, include }
}

/** OpenAI rejects reasoning parameters for these models. */
const WITHOUT_REASONING = /^(?:gpt-3|gpt-4|chatgpt-|gpt-5-chat)/

const XAI_WITH_EFFORT = /^grok-(?:3-mini|4\.20-multi-agent|4\.3)/

function limitFields(request: ModelRequest, traits: EndpointTraits): object {
  if (traits.vendor === "codex-backend") return {}
  return {
    ...(request.maxOutputTokens === undefined ? {} : { max_output_tokens: request.maxOutputTokens }),
    ...(request.temperature === undefined ? {} : { temperature: request.temperature }),
  }
}

function cacheFields(request: ModelRequest, traits: EndpointTraits): object {
  if (request.conversationId === undefined || traits.vendor === "github") return {}
  return { prompt_cache_key: request.conversationId }
}

function wireTool(tool: ToolDefinition, traits: EndpointTraits): object {
  return {
    type: "function",
    name: tool.name,
    description: tool.description,
    parameters: traits.vendor === "xai" ? schemaForXai(tool.parameters) : tool.parameters,
    strict: false,
  }
}
