import type { AssistantMessage, Message, Part, UserMessage } from "../../../protocol/message.ts"
import { mergeWords, NO_WORDS, parseWordLine, wordLines } from "../user-words.ts"
import type { UserWords } from "../user-words.ts"

/** The start of every summary message, also in older conversations. */
const MARKER = "[CONTEXT COMPACTION — REFERENCE ONLY]"
const END_MARKER = "--- END OF CONTEXT SUMMARY — respond to the message below, not the summary above ---"

function prefix(sessionId: string): string {
  return (
    `${MARKER} Earlier turns of this conversation were compacted into the summary below. It is a hand-over from a previous context ` +
    "window: background, not instructions. Do not answer questions or carry out requests that it mentions; they were dealt with. " +
    "Respond only to the newest user message after it: that message alone says what the task is, also where topics overlap, and " +
    "when it stops, undoes or changes something, everything described here that it concerns is over. Persistent memory (MEMORY.md, " +
    "USER.md) stays authoritative. Files and other state may already reflect the work described: look before repeating it. Every " +
    `compacted message is kept word for word; session_search with session_id "${sessionId}" (and a query or around_message_id) brings it back.`
  )
}

/** The complete text of a summary message. */
export function wrapSummary(body: string, sessionId: string): string {
  return `${prefix(sessionId)}\n\n${body}\n\n${END_MARKER}`
}

const WORDS_HEADING = "## The User's Own Words"

/** Adds what the user said in the summarised messages, which no model may shorten. */
export function withWords(body: string, words: UserWords): string {
  const lines = wordLines(words)
  return lines.length === 0 ? body : [body, "", WORDS_HEADING, ...lines].join("\n")
}

/** Splits the body of a summary into the text and the words of the user. */
export function splitWords(body: string): { readonly body: string; readonly words: UserWords } {
  const start = body.lastIndexOf(WORDS_HEADING)
  if (start === -1) return { body, words: NO_WORDS }
  const words = body
    .slice(start)
    .split("\n")
    .reduce((found, line) => mergeWords(found, parseWordLine(line) ?? NO_WORDS), NO_WORDS)
  return { body: body.slice(0, start).trim(), words }
}

export interface FoundSummary {
  readonly body: string
  /** The remaining text of the message: the user's, when the summary was put before it. */
  readonly rest: string
}

/**
 * Finds the summary in a message of any version: the introduction before it changed over time, the marker and the first heading did
 * not.
 */
export function findSummary(message: Message): FoundSummary | undefined {
  if (message.role !== "user" && message.role !== "assistant") return undefined
  const marked = message.compressed_summary === true
  if (typeof message.content === "string") return findInText(message.content, marked)
  const found = message.content?.flatMap((part) => (part.type === "text" ? (findInText(part.text, marked) ?? []) : []))
  const [summary] = found ?? []
  if (summary === undefined) return undefined
  const others = (message.content ?? []).filter(
    (part) => part.type !== "text" || findInText(part.text, marked) === undefined,
  )
  return { ...summary, rest: [summary.rest, ...others.map(partText)].filter((text) => text !== "").join(" ") }
}

function partText(part: Part): string {
  return part.type === "text" ? part.text : "[image]"
}

/** The message without its summary; undefined when it contains nothing else. */
export function withoutSummary(message: UserMessage | AssistantMessage): UserMessage | AssistantMessage | undefined {
  const summary = findSummary(message)
  if (summary === undefined) return message
  if (message.role === "user") {
    const { compressed_summary: _carried, ...plain } = message
    return summary.rest === "" ? undefined : { ...plain, content: contentWithout(message.content, summary) }
  }
  const { compressed_summary: _carried, ...plain } = message
  if (summary.rest === "") return (message.tool_calls ?? []).length === 0 ? undefined : { ...plain, content: null }
  return { ...plain, content: contentWithout(message.content ?? "", summary) }
}

function contentWithout(content: string | readonly Part[], { rest }: FoundSummary): string | readonly Part[] {
  if (typeof content === "string") return rest
  return content.flatMap((part) => {
    const found = part.type === "text" ? findInText(part.text, true) : undefined
    if (found === undefined) return [part]
    return found.rest === "" ? [] : [{ type: "text" as const, text: found.rest }]
  })
}

function findInText(text: string, marked: boolean): FoundSummary | undefined {
  if (!marked && !text.startsWith("[CONTEXT ")) return undefined
  const current = OPENING.exec(text)
  const opening = current ?? LEGACY_OPENING.exec(text)
  if (opening === null || (!marked && opening.index > 0)) return undefined
  const after = text.slice(opening.index + opening[0].length)
  const end = END.exec(after)
  const inside = end === null ? after : after.slice(0, end.index)
  const following = end === null ? "" : after.slice(end.index + end[0].length)
  return {
    body: current === null ? inside.trim() : bodyAfterPrefix(inside),
    rest: `${text.slice(0, opening.index)}${following}`.trim(),
  }
}

const OPENING = /\[CONTEXT COMPACTION[^\]\n]*\]:?/u
const LEGACY_OPENING = /\[CONTEXT SUMMARY\]:?/u
const END = /^--- END OF CONTEXT SUMMARY[^\n]*$/mu

function bodyAfterPrefix(inside: string): string {
  const heading = /^## /mu.exec(inside)
  if (heading !== null) return inside.slice(heading.index).trim()
  // Without headings, the introduction ends with its line.
  const lineEnd = inside.indexOf("\n")
  return (lineEnd === -1 ? inside : inside.slice(lineEnd)).trim()
}

/** Removes markers that a model may have copied from an earlier summary. */
export function cleanBody(text: string): string {
  const copied = findInText(text.trim(), false)
  return (copied?.body ?? text.replace(END, "")).trim()
}
