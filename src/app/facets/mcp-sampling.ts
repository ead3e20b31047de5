import { isRecord, parseJson } from "../../base/json.ts"
import { fail, ok } from "../../base/result.ts"
import type { Result } from "../../base/result.ts"
import type { SamplingMessage, SamplingReply, SamplingRequest } from "../../mcp/client/call-scope.ts"
import type { Message, Part } from "../../protocol/message.ts"
import type { AuxiliaryModel } from "../session/auxiliary-model.ts"

/** Lets the auxiliary model answer a completion request of an MCP server. The cost counts for the session. */
export async function answerSampling(
  request: SamplingRequest,
  { auxiliary, signal }: { readonly auxiliary: AuxiliaryModel; readonly signal: AbortSignal },
): Promise<Result<SamplingReply>> {
  const { model, system, tools, maxTokens, temperature, timeoutMs } = request
  const reply = await auxiliary.call({
    task: "mcp",
    ...(system === undefined ? {} : { system }),
    messages: request.messages.flatMap(messagesOf),
    ...(tools.length === 0 ? {} : { tools }),
    maxTokens,
    ...(temperature === undefined ? {} : { temperature }),
    override: { timeoutSeconds: timeoutMs / 1000, ...(model === undefined ? {} : { model }) },
    signal,
  })
  if (!reply.ok) return fail(reply.error.message)
  const calls = (reply.value.toolCalls ?? []).map((call) => {
    const input = parseJson(call.function.arguments)
    return { id: call.id, name: call.function.name, input: isRecord(input) ? input : {} }
  })
  return ok({ model: reply.value.runtime.model, text: reply.value.text, calls })
}

function messagesOf({ role, content }: SamplingMessage): readonly Message[] {
  const results = content.flatMap((part): Message[] =>
    part.type === "tool_result"
      ? [{ role: "tool", content: part.text, tool_call_id: part.toolUseId, tool_name: "tool" }]
      : [],
  )
  const parts = content.flatMap((part): Part[] => {
    if (part.type === "text") return [{ type: "text", text: part.text }]
    if (part.type !== "image") return []
    return [{ type: "image_url", image_url: { url: `data:${part.mimeType};base64,${part.data}` } }]
  })
  if (role === "user") return [...results, ...(parts.length === 0 ? [] : [{ role, content: parts } as const])]
  const calls = content.flatMap((part) =>
    part.type === "tool_use"
      ? [
          {
            id: part.id,
            type: "function" as const,
            function: { name: part.name, arguments: JSON.stringify(part.input) },
          },
        ]
      : [],
  )
  const text = parts.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n")
  return [{ role, content: text, ...(calls.length === 0 ? {} : { tool_calls: calls }) }]
}
