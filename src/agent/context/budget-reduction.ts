import { contentText } from "../../protocol/message.ts"
import type { Message, Part, ToolMessage } from "../../protocol/message.ts"
import { isOversized, reduceResult } from "./shortened-result.ts"
import type { Spill } from "./shortened-result.ts"
import { originOf, reshape } from "./draft.ts"
import type { Draft } from "./draft.ts"

export interface ReduceOptions {
  readonly limitTokens: number
  readonly spare: (message: ToolMessage) => boolean
  readonly spill: Spill
}

/** Layer 1: no single result may take more than its share. Only results change; nothing is removed. */
export async function reduceResults(draft: Draft, { limitTokens, spare, spill }: ReduceOptions): Promise<Draft> {
  const reduced = new Map<Message, Message>()
  for (const message of draft.messages) {
    if (message.role !== "tool" || spare(message)) continue
    const origin = originOf(draft, message)
    const full = origin.role === "tool" ? origin : message
    const content = await reduceContent(message, { limitTokens, spill, full: contentText(full.content) })
    if (content !== message.content) reduced.set(message, { ...message, content })
  }
  return reshape(draft, (message) => reduced.get(message) ?? message)
}

/** The results that the model has not seen: it cannot say yet what of them matters. */
export function unseenResults(messages: readonly Message[]): ReadonlySet<Message> {
  const lastReply = messages.findLastIndex((message) => message.role === "assistant")
  return new Set(messages.slice(lastReply + 1).filter((message) => message.role === "tool"))
}

async function reduceContent(
  message: ToolMessage,
  { limitTokens, spill, full }: { readonly limitTokens: number; readonly spill: Spill; readonly full: string },
): Promise<string | readonly Part[]> {
  const { content, tool_call_id: callId } = message
  let stored: ReturnType<Spill> | undefined
  const keep: Spill = async () => await (stored ??= spill(full, callId))
  if (typeof content === "string") {
    return isOversized(content, limitTokens)
      ? await reduceResult(content, { limitTokens, callId, spill: keep })
      : content
  }
  if (!content.some((part) => part.type === "text" && isOversized(part.text, limitTokens))) return content
  return await Promise.all(
    content.map(async (part) =>
      part.type === "text" && isOversized(part.text, limitTokens)
        ? { ...part, text: await reduceResult(part.text, { limitTokens, callId, spill: keep }) }
        : part,
    ),
  )
}
