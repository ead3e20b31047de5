import { oncePerObject } from "../../../base/once-per-object.ts"
import type { ToolDefinition } from "../../../protocol/tool.ts"
import type { Effort, ModelRequest } from "../../model.ts"
import { createContentsEncoder } from "./history.ts"
import { decodeGemini, decodeCompleteGemini, INITIAL_STATE, finishGemini } from "./reply.ts"
import type { GeminiState } from "./reply.ts"
import { sanitiseForGemini } from "./schema.ts"
import { systemTexts } from "../request-text.ts"
import type { Wire, WireEndpoint } from "../wire.ts"

/** Google's native Gemini API. The path contains the model. */
export function createGeminiWire(endpoint: WireEndpoint): Wire<GeminiState> {
  const encodeContents = createContentsEncoder()
  const encodeTools = oncePerObject((tools: readonly ToolDefinition[]) =>
    JSON.stringify([{ functionDeclarations: tools.map(wireTool) }]),
  )

  return {
    framing: "sse",
    path: (request) => `/models/${encodeURIComponent(modelName(request.model))}:streamGenerateContent?alt=sse`,
    headers: () => ({}),
    encode: (request) => {
      const system = systemTexts(request)
      const head = JSON.stringify({
        ...(system.length === 0 ? {} : { systemInstruction: { parts: system.map((text) => ({ text })) } }),
        generationConfig: generationConfig(request, endpoint),
        ...(request.tools.length === 0 ? {} : { toolConfig: toolConfig(request) }),
      }).slice(0, -1)
      const tools = request.tools.length === 0 ? "" : `,"tools":${encodeTools(request.tools)}`
      const format = (version(request.model) ?? 0) >= 3 ? "signed" : "plain"
      return {
        head: `${head}${tools},"contents":[`,
        preface: "",
        history: encodeContents(request.messages, format),
      }
    },
    start: () => INITIAL_STATE,
    decode: decodeGemini,
    finish: finishGemini,
    decodeComplete: decodeCompleteGemini,
  }
}

/** Google's model list uses the prefix `models/`, aggregators use `google/`. */
function modelName(model: string): string {
  return model.replace(/^(?:models|google)\//, "")
}

const DEFAULT_MAX_TOKENS = 65_535

function generationConfig(request: ModelRequest, endpoint: WireEndpoint): Record<string, unknown> {
  const requested = request.maxOutputTokens ?? DEFAULT_MAX_TOKENS
  const thinkingConfig = thinkingOf(request)
  return {
    maxOutputTokens: endpoint.contextLength > 1 ? Math.min(requested, endpoint.contextLength - 1) : requested,
    ...(request.temperature === undefined ? {} : { temperature: request.temperature }),
    ...(thinkingConfig === undefined ? {} : { thinkingConfig }),
  }
}

/** Models before 2.5, Gemma and unknown families reject the field; thinking levels exist since version 3. */
function thinkingOf({ model, effort }: ModelRequest): Record<string, unknown> | undefined {
  const number = version(model)
  if (number === undefined || number < 2.5) return undefined
  if (effort === "none") return { includeThoughts: false }
  if (effort === undefined || number < 3) return { includeThoughts: true }
  const levels = /(?:^|[-.])pro(?:[-.]|$)/.test(modelName(model).toLowerCase()) ? PRO_LEVELS : FLASH_LEVELS
  return { includeThoughts: true, thinkingLevel: levels[effort] }
}

const FLASH_LEVELS: Record<Exclude<Effort, "none">, string> = {
  minimal: "low",
  low: "low",
  medium: "medium",
  high: "high",
  xhigh: "high",
}

const PRO_LEVELS: Record<Exclude<Effort, "none">, string> = { ...FLASH_LEVELS, medium: "low" }

/** 2.5 for `gemini-2.5-pro`; undefined for Gemma and for names without a number. */
function version(model: string): number | undefined {
  const found = /gemini-(\d+(?:\.\d+)?)/i.exec(model)?.[1]
  return found === undefined ? undefined : Number(found)
}

function toolConfig(request: ModelRequest): unknown {
  const modes = { auto: "AUTO", required: "ANY", none: "NONE" } as const
  return { functionCallingConfig: { mode: modes[request.toolChoice ?? "auto"] } }
}

/** Gemini rejects an object without properties, so a tool without parameters declares none. */
function wireTool({ name, description, parameters }: ToolDefinition): unknown {
  const schema = sanitiseForGemini(parameters)
  return { name, description, ...(schema["properties"] === undefined ? {} : { parameters: schema }) }
}
