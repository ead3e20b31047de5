import { scrubSurrogates } from "../../base/text.ts"
import type { ToolDefinition } from "../../protocol/tool.ts"
import type { Effort, ModelRequest } from "../model.ts"
import { createContentsEncoder } from "./gemini-history.ts"
import { decodeGemini, decodeWholeGemini, EMPTY_GEMINI, finishGemini } from "./gemini-reply.ts"
import type { GeminiState } from "./gemini-reply.ts"
import { sanitiseForGemini } from "./gemini-schema.ts"
import type { Wire, WirePlace } from "./wire.ts"

/** Google's own wire for Gemini. The model is named in the path. */
export function createGeminiWire(place: WirePlace): Wire<GeminiState> {
  const encodeContents = createContentsEncoder()
  const encodedTools = new WeakMap<readonly ToolDefinition[], string>()
  const encodeToolsOnce = (tools: readonly ToolDefinition[]): string => {
    const known = encodedTools.get(tools)
    if (known !== undefined) return known
    const bytes = JSON.stringify([{ functionDeclarations: tools.map(wireTool) }])
    encodedTools.set(tools, bytes)
    return bytes
  }

  return {
    framing: "sse",
    path: (request) => `/models/${encodeURIComponent(modelName(request.model))}:streamGenerateContent?alt=sse`,
    headers: () => ({}),
    encode: (request) => {
      const system = systemTexts(request)
      const head = JSON.stringify({
        ...(system.length === 0 ? {} : { systemInstruction: { parts: system.map((text) => ({ text })) } }),
        generationConfig: generationConfig(request, place),
        ...(request.tools.length === 0 ? {} : { toolConfig: toolConfig(request) }),
      }).slice(0, -1)
      const tools = request.tools.length === 0 ? "" : `,"tools":${encodeToolsOnce(request.tools)}`
      const form = (version(request.model) ?? 0) >= 3 ? "sealed" : "plain"
      return `${head}${tools},"contents":${encodeContents(request.messages, form)}}`
    },
    start: () => EMPTY_GEMINI,
    decode: decodeGemini,
    finish: finishGemini,
    decodeWhole: decodeWholeGemini,
  }
}

/** Lists name models `models/…`, aggregators `google/…`. */
function modelName(model: string): string {
  return model.replace(/^(?:models|google)\//, "")
}

function systemTexts(request: ModelRequest): readonly string[] {
  const later = request.messages.flatMap((message) => (message.role === "system" ? [message.content] : []))
  return [request.system, ...later].filter((text) => text.trim() !== "").map(scrubSurrogates)
}

const DEFAULT_MAX_TOKENS = 65_535

function generationConfig(request: ModelRequest, place: WirePlace): Record<string, unknown> {
  const asked = request.maxOutputTokens ?? DEFAULT_MAX_TOKENS
  const thinkingConfig = thinkingOf(request)
  return {
    maxOutputTokens: place.contextLength > 1 ? Math.min(asked, place.contextLength - 1) : asked,
    ...(request.temperature === undefined ? {} : { temperature: request.temperature }),
    ...(thinkingConfig === undefined ? {} : { thinkingConfig }),
  }
}

/** Models before 2.5, Gemma and unknown families do not think and refuse the field; 2.5 has no levels, 3 and later have. */
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

/** An object without properties is refused; a tool that takes nothing declares no parameters. */
function wireTool({ name, description, parameters }: ToolDefinition): unknown {
  const schema = sanitiseForGemini(parameters)
  return { name, description, ...(schema["properties"] === undefined ? {} : { parameters: schema }) }
}
