import { isRecord } from "../../base/json.ts"
import type { Clock } from "../../base/clock.ts"
import { fail, ok } from "../../base/result.ts"
import type { Result } from "../../base/result.ts"
import type { ServerSettings } from "../server-settings.ts"
import type { SamplingMessage, SamplingPart, SamplingRequest, SamplingTool } from "./call-scope.ts"

/** Applies the limits of a server to its sampling requests. */
export interface SamplingGate {
  /** The request as it may be sent to a model, or why it is refused. */
  admit(params: unknown): Result<SamplingRequest>
}

const WINDOW_MS = 60_000
const MAX_REQUEST_CHARS = 400_000

export function createSamplingGate({ name, sampling }: ServerSettings, clock: Clock): SamplingGate {
  let recent: number[] = []
  return {
    admit: (params) => {
      recent = recent.filter((time) => clock.now() - time < WINDOW_MS)
      if (recent.length >= sampling.maxPerMinute)
        return fail(`this server may request ${sampling.maxPerMinute} completions per minute`)
      recent.push(clock.now())
      if (!isRecord(params) || !Array.isArray(params["messages"])) return fail("the request has no messages")
      if (JSON.stringify(params["messages"]).length > MAX_REQUEST_CHARS) return fail("the request is too long")
      const messages = params["messages"].flatMap(readMessage)
      const rounds = messages.filter(({ content }) => content.some(({ type }) => type === "tool_result")).length
      if (rounds > sampling.maxToolRounds) return fail(`more than ${sampling.maxToolRounds} rounds of tool calls`)
      const { systemPrompt, maxTokens, temperature } = params
      const model = chosenModel(sampling)
      return ok({
        server: name,
        ...(model === undefined ? {} : { model }),
        ...(typeof systemPrompt === "string" ? { system: systemPrompt } : {}),
        messages,
        tools: Array.isArray(params["tools"]) ? params["tools"].flatMap(readTool) : [],
        maxTokens: Math.min(typeof maxTokens === "number" ? maxTokens : sampling.maxTokens, sampling.maxTokens),
        ...(typeof temperature === "number" ? { temperature } : {}),
        timeoutMs: sampling.timeoutMs,
      })
    },
  }
}

function chosenModel({ model, allowedModels }: ServerSettings["sampling"]): string | undefined {
  return model !== undefined && (allowedModels.length === 0 || allowedModels.includes(model)) ? model : undefined
}

function readMessage(message: unknown): readonly SamplingMessage[] {
  if (!isRecord(message)) return []
  const { role, content } = message
  const parts = (Array.isArray(content) ? content : [content]).flatMap(readPart)
  return parts.length === 0 ? [] : [{ role: role === "assistant" ? "assistant" : "user", content: parts }]
}

function readPart(part: unknown): readonly SamplingPart[] {
  if (!isRecord(part)) return []
  const { type, text, data, mimeType, id, name, input, toolUseId, content } = part
  if (type === "text" && typeof text === "string") return [{ type, text }]
  if (type === "image" && typeof data === "string" && typeof mimeType === "string") return [{ type, data, mimeType }]
  if (type === "tool_use" && typeof id === "string" && typeof name === "string") return [{ type, id, name, input }]
  if (type === "tool_result" && typeof toolUseId === "string")
    return [{ type, toolUseId, text: (Array.isArray(content) ? content : []).flatMap(textOf).join("\n") }]
  return []
}

function textOf(block: unknown): readonly string[] {
  return isRecord(block) && typeof block["text"] === "string" ? [block["text"]] : []
}

function readTool(tool: unknown): readonly SamplingTool[] {
  if (!isRecord(tool) || typeof tool["name"] !== "string") return []
  const { name, description, inputSchema } = tool
  return [
    {
      name,
      description: typeof description === "string" ? description : "",
      parameters: isRecord(inputSchema) ? inputSchema : { type: "object", properties: {} },
    },
  ]
}
