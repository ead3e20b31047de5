import { lazy } from "../../base/lazy.ts"
import { contentText } from "../../protocol/message.ts"
import type { Message, Part, ToolMessage } from "../../protocol/message.ts"
import { isOversized, reduceResult } from "./shortened-result.ts"
import type { Spill } from "./shortened-result.ts"
import { originalOf, mapMessages } from "./history-draft.ts"
import type { HistoryDraft } from "./history-draft.ts"

export interface ReduceOptions {
  readonly limitTokens: number
  /** Results that stay unchanged. */
  readonly exempt: (message: ToolMessage) => boolean
  readonly spill: Spill
}

/** Layer 1: shortens results that exceed the limit. No message is removed. */
export async function reduceResults(
  draft: HistoryDraft,
  { limitTokens, exempt, spill }: ReduceOptions,
): Promise<HistoryDraft> {
  const reduced = new Map<Message, Message>()
  for (const message of draft.messages) {
    if (message.role !== "tool" || exempt(message)) continue
    const original = originalOf(draft, message)
    const full = original.role === "tool" ? original : message
    const content = await reduceContent(message, { limitTokens, spill, full: contentText(full.content) })
    if (content !== message.content) reduced.set(message, { ...message, content })
  }
  return mapMessages(draft, (message) => reduced.get(message) ?? message)
}

/** The results after the last reply, which the model has not seen yet. */
export function unseenResults(messages: readonly Message[]): ReadonlySet<Message> {
  const lastReply = messages.findLastIndex((message) => message.role === "assistant")
  return new Set(messages.slice(lastReply + 1).filter((message) => message.role === "tool"))
}

async function reduceContent(
  message: ToolMessage,
  { limitTokens, spill, full }: { readonly limitTokens: number; readonly spill: Spill; readonly full: string },
): Promise<string | readonly Part[]> {
  const { content, tool_call_id: callId } = message
  const stored = lazy(() => spill(full, callId))
  if (typeof content === "string") {
    return isOversized(content, limitTokens)
      ? await reduceResult(content, { limitTokens, callId, spill: stored })
      : content
  }
  if (!content.some((part) => part.type === "text" && isOversized(part.text, limitTokens))) return content
  return await Promise.all(
    content.map(async (part) =>
      part.type === "text" && isOversized(part.text, limitTokens)
        ? { ...part, text: await reduceResult(part.text, { limitTokens, callId, spill: stored }) }
        : part,
    ),
  )
}
