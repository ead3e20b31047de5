import { scrubSurrogates } from "../../base/text.ts"
import type { ToolDefinition } from "../../protocol/tool.ts"
import { awsEncode } from "../aws/sign.ts"
import type { ModelRequest } from "../model.ts"
import { createHistoryEncoder } from "./bedrock-history.ts"
import type { HistoryForm } from "./bedrock-history.ts"
import { bedrockParameters } from "./bedrock-parameters.ts"
import { decodeConverse, decodeWholeConverse, EMPTY_CONVERSE, finishConverse } from "./bedrock-reply.ts"
import type { ConverseState } from "./bedrock-reply.ts"
import type { Wire, WirePlace } from "./wire.ts"

/** Amazon Bedrock's Converse. The model is named in the path, the stream is binary. */
export function createBedrockConverseWire(place: WirePlace, options: BedrockOptions = {}): Wire<ConverseState> {
  const streaming = options.streaming ?? true
  const encodeHistory = createHistoryEncoder()
  const encodedTools = new WeakMap<readonly ToolDefinition[], string>()
  const encodeToolsOnce = (tools: readonly ToolDefinition[]): string => {
    const known = encodedTools.get(tools)
    if (known !== undefined) return known
    const bytes = JSON.stringify(tools.map(wireTool))
    encodedTools.set(tools, bytes)
    return bytes
  }

  return {
    framing: "aws-event-stream",
    path: (request) => `/model/${awsEncode(request.model)}/${streaming ? "converse-stream" : "converse"}`,
    headers: () => ({ accept: streaming ? "application/vnd.amazon.eventstream" : "application/json" }),
    encode: (request) => {
      const system = systemTexts(request)
      const head = JSON.stringify({
        ...bedrockParameters(request, place),
        ...(system.length === 0 ? {} : { system: system.map((text) => ({ text })) }),
        ...guardrailConfig(options.guardrail ?? {}, { streaming }),
      }).slice(0, -1)
      const offersTools = request.tools.length > 0 && takesTools(request.model)
      const choice = request.toolChoice === "required" ? `,"toolChoice":{"any":{}}` : ""
      const tools = offersTools ? `,"toolConfig":{"tools":${encodeToolsOnce(request.tools)}${choice}}` : ""
      const form = offersTools ? historyForm(request.model) : "text"
      return `${head}${tools},"messages":${encodeHistory(request.messages, form)}}`
    },
    start: () => EMPTY_CONVERSE,
    decode: decodeConverse,
    finish: finishConverse,
    decodeWhole: decodeWholeConverse,
  }
}

export interface BedrockOptions {
  /** The setting `bedrock.guardrail`: `identifier`, `version`, and optionally `trace` and `stream_processing_mode`. */
  readonly guardrail?: Readonly<Record<string, unknown>>
  /** False for an account that may not stream (see `deniesStreaming`). */
  readonly streaming?: boolean
}

/** The account may call the model but not stream from it: the same request without streaming will pass. */
export function deniesStreaming(response: { readonly status: number; readonly body: string }): boolean {
  return response.status === 403 && response.body.includes("InvokeModelWithResponseStream")
}

function systemTexts(request: ModelRequest): readonly string[] {
  const later = request.messages.flatMap((message) => (message.role === "system" ? [message.content] : []))
  return [request.system, ...later].filter((text) => text.trim() !== "").map(scrubSurrogates)
}

function takesTools(model: string): boolean {
  const id = model.toLowerCase()
  return !WITHOUT_TOOLS.some((part) => id.includes(part))
}

const WITHOUT_TOOLS = ["deepseek.r1", "deepseek-r1", "stability.", "cohere.embed", "amazon.titan-embed"] as const

function historyForm(model: string): HistoryForm {
  const id = model.toLowerCase()
  if (id.includes("claude")) return "claude"
  return id.includes("nova") ? "nova" : "plain"
}

function wireTool(tool: ToolDefinition): unknown {
  const { name, description, parameters } = tool
  return { toolSpec: { name, ...(description === "" ? {} : { description }), inputSchema: { json: parameters } } }
}

/** Both editions' spellings of the keys are known; without an identifier there is no guardrail. */
function guardrailConfig(
  guardrail: Readonly<Record<string, unknown>>,
  { streaming }: { readonly streaming: boolean },
): Record<string, unknown> {
  const text = (...names: readonly string[]): string | undefined => {
    const value = names.map((name) => guardrail[name]).find((found) => found !== undefined && found !== "")
    return typeof value === "string" || typeof value === "number" ? String(value) : undefined
  }
  const guardrailIdentifier = text("identifier", "guardrail_identifier")
  if (guardrailIdentifier === undefined) return {}
  const trace = text("trace")
  const mode = streaming ? text("stream_processing_mode") : undefined
  return {
    guardrailConfig: {
      guardrailIdentifier,
      guardrailVersion: text("version", "guardrail_version") ?? "DRAFT",
      ...(trace === undefined ? {} : { trace }),
      ...(mode === undefined ? {} : { streamProcessingMode: mode }),
    },
  }
}
