import { findSummary } from "../../agent/context/summary/summary-text.ts"
import { contentText } from "../../protocol/message.ts"
import type { Message, Part, UserMessage } from "../../protocol/message.ts"
import type { SessionParts } from "./session-parts.ts"

export type UndoReport =
  /** The user message that was removed, with everything after it. */
  | { readonly kind: "removed"; readonly text: string; readonly images: readonly Part[] }
  | { readonly kind: "nothing" }
  /** What is left was compressed. Its summary stands for many messages and is not removed. */
  | { readonly kind: "compressed" }

type UndoParts = Pick<SessionParts, "catchUp" | "conversation">

/** Removes the last user message and everything after it. A summary or a note about removed messages always stays. */
export async function undoLastTurn({ catchUp, conversation }: UndoParts): Promise<UndoReport> {
  for await (const _event of catchUp([])) continue
  const { history } = conversation
  const index = history.findLastIndex((message) => message.role === "user" && message.synthetic === undefined)
  const message = history[index]
  const firstUndoable = history.findLastIndex(isFromCompression)
  if (message?.role !== "user") return { kind: firstUndoable === -1 ? "nothing" : "compressed" }
  if (firstUndoable > index) return { kind: "compressed" }
  return await removeFrom(index, message, conversation)
}

/**
 * Removes the newest of these user messages that is still in the history, and everything after it. Messages are identified by their
 * timestamps, which compressions, branches and other processes keep.
 */
export async function undoFrom(
  timestamps: readonly number[],
  { catchUp, conversation }: UndoParts,
): Promise<UndoReport> {
  for await (const _event of catchUp([])) continue
  const { history } = conversation
  const index = history.findLastIndex(
    (message) => message.role === "user" && message.timestamp !== undefined && timestamps.includes(message.timestamp),
  )
  const message = history[index]
  if (message?.role !== "user") return { kind: history.some(isFromCompression) ? "compressed" : "nothing" }
  return await removeFrom(index, message, conversation)
}

async function removeFrom(
  index: number,
  message: UserMessage,
  conversation: UndoParts["conversation"],
): Promise<UndoReport> {
  const summary = isFromCompression(message) ? summaryOf(message) : undefined
  if (isFromCompression(message) && summary === undefined) return { kind: "compressed" }
  await conversation.rewind(index)
  const images = imagesOf(message)
  if (summary === undefined) return { kind: "removed", text: message.typed ?? contentText(message.content), images }
  await conversation.append([summary])
  return { kind: "removed", text: findSummary(message)?.rest ?? "", images }
}

function imagesOf({ content }: UserMessage): readonly Part[] {
  return typeof content === "string" ? [] : content.filter(({ type }) => type === "image_url")
}

function isFromCompression(message: Message): boolean {
  return (
    message.role !== "system" &&
    (message.compressed_summary === true || message.synthetic === "elision" || message.synthetic === "summary")
  )
}

/** The summary that was put before the user's text, as a message of its own; undefined when there is no other text. */
function summaryOf({ content }: UserMessage): UserMessage | undefined {
  const carrier: UserMessage = { role: "user", content, compressed_summary: true }
  const rest = findSummary(carrier)?.rest ?? ""
  if (rest === "") return undefined
  const text = typeof content === "string" ? content : (content.find((part) => part.type === "text")?.text ?? "")
  const end = text.lastIndexOf(rest)
  return {
    role: "user",
    content: (end === -1 ? text : text.slice(0, end)).trimEnd(),
    compressed_summary: true,
    synthetic: "summary",
  }
}
