import { oncePerObject } from "../../../base/once-per-object.ts"
import type { ToolDefinition } from "../../../protocol/tool.ts"
import { awsEncode } from "../../aws/sign.ts"
import { createHistoryEncoder, loopLacksReasoning } from "./history.ts"
import type { HistoryFormat } from "./history.ts"
import { bedrockParameters, hasThinkingBudget } from "./parameters.ts"
import { decodeConverse, decodeCompleteConverse, INITIAL_STATE, finishConverse } from "./reply.ts"
import type { ConverseState } from "./reply.ts"
import { systemTexts } from "../request-text.ts"
import type { Wire, WireEndpoint } from "../wire.ts"

/** Amazon Bedrock's Converse API. The path contains the model; the stream is in AWS event-stream encoding. */
export function createBedrockConverseWire(endpoint: WireEndpoint, options: BedrockOptions = {}): Wire<ConverseState> {
  const streaming = options.streaming ?? true
  const encodeHistory = createHistoryEncoder()
  const encodeTools = oncePerObject((tools: readonly ToolDefinition[]) => JSON.stringify(tools.map(wireTool)))

  return {
    framing: "aws-event-stream",
    path: (request) => `/model/${awsEncode(request.model)}/${streaming ? "converse-stream" : "converse"}`,
    headers: () => ({ accept: streaming ? "application/vnd.amazon.eventstream" : "application/json" }),
    encode: (request) => {
      const system = systemTexts(request)
      const offersTools = request.tools.length > 0 && supportsTools(request.model)
      const format = offersTools ? historyFormat(request.model) : "text"
      // With a thinking budget Claude requires a tool loop to begin with reasoning.
      const withoutThinking =
        format === "claude" && hasThinkingBudget(request, endpoint) && loopLacksReasoning(request.messages)
      const head = JSON.stringify({
        ...bedrockParameters(withoutThinking ? { ...request, effort: "none" } : request, endpoint),
        ...(system.length === 0 ? {} : { system: system.map((text) => ({ text })) }),
        ...guardrailConfig(options.guardrail ?? {}, { streaming }),
      }).slice(0, -1)
      const choice = request.toolChoice === "required" ? `,"toolChoice":{"any":{}}` : ""
      const tools = offersTools ? `,"toolConfig":{"tools":${encodeTools(request.tools)}${choice}}` : ""
      // Like Claude's own history, without reasoning: it is rejected in a request that disables thinking.
      const sentFormat = withoutThinking ? "nova" : format
      return {
        head: `${head}${tools},"messages":[`,
        preface: "",
        history: encodeHistory(request.messages, sentFormat),
      }
    },
    start: () => INITIAL_STATE,
    decode: decodeConverse,
    finish: finishConverse,
    decodeComplete: decodeCompleteConverse,
  }
}

export interface BedrockOptions {
  /** The setting `bedrock.guardrail`: `identifier`, `version`, and optionally `trace` and `stream_processing_mode`. */
  readonly guardrail?: Readonly<Record<string, unknown>>
  /** False for an account without the permission to stream (see `LlmFailure.refusesStreaming`). */
  readonly streaming?: boolean
}

function supportsTools(model: string): boolean {
  const id = model.toLowerCase()
  return !WITHOUT_TOOLS.some((part) => id.includes(part))
}

const WITHOUT_TOOLS = ["deepseek.r1", "deepseek-r1", "stability.", "cohere.embed", "amazon.titan-embed"] as const

function historyFormat(model: string): HistoryFormat {
  const id = model.toLowerCase()
  if (id.includes("claude")) return "claude"
  return id.includes("nova") ? "nova" : "plain"
}

function wireTool(tool: ToolDefinition): unknown {
  const { name, description, parameters } = tool
  return { toolSpec: { name, ...(description === "" ? {} : { description }), inputSchema: { json: parameters } } }
}

/** Accepts the key names of both editions; without an identifier there is no guardrail. */
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
