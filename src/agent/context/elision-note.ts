import { ellipsize } from "../../base/text.ts"
import { contentText } from "../../protocol/message.ts"
import type { Message, Part, UserMessage } from "../../protocol/message.ts"
import type { DigestedCall } from "../../toolkit/tool.ts"
import { digestedCall } from "./result-digest.ts"
import { isFromUser } from "./rounds.ts"

/** Rounds that a compression removed at one position of the history. The note about them replaces them (an elision note). */
export interface Elision {
  readonly rounds: number
  /** The sessions that store the removed messages, newest first. */
  readonly sessions: readonly string[]
  /** What the user asked and what was done, most important first. */
  readonly lines: readonly string[]
}

export const NO_ELISION: Elision = { rounds: 0, sessions: [], lines: [] }

const MAX_LINES = 12
const MAX_SESSIONS = 3
const MAX_REQUEST_CHARS = 160
const MAX_ACTION_CHARS = 160
const MAX_HINT_LINES = 3

const OPENING = "[LEFT OUT TO SAVE SPACE:"
const CLOSING = "[END OF NOTE]"

export function elisionNote({ rounds, sessions, lines }: Elision): string {
  const ids = sessions.map((id) => `"${id}"`).join(", ")
  return [
    `${OPENING} ${rounds} earlier ${rounds === 1 ? "round" : "rounds"} of this conversation. They are background and already handled. ` +
      `Every message is kept word for word; session_search with session_id ${ids} (and a query or around_message_id) brings it back.]`,
    ...lines,
    CLOSING,
  ].join("\n")
}

/** Splits a text into the note at its beginning and the rest; undefined when it starts with no note. */
export function splitNote(text: string): { readonly elision: Elision; readonly rest: string } | undefined {
  if (!text.startsWith(OPENING)) return undefined
  const end = text.indexOf(`\n${CLOSING}`)
  if (end === -1) return undefined
  const [first = "", ...lines] = text.slice(0, end).split("\n")
  const rounds = /^\[LEFT OUT TO SAVE SPACE: (\d+) /u.exec(first)?.[1]
  if (rounds === undefined) return undefined
  const ids = first.slice(first.indexOf("session_id "), first.indexOf(" (and a query"))
  return {
    elision: {
      rounds: Number(rounds),
      sessions: [...ids.matchAll(/"([^"]+)"/gu)].map((found) => found[1] ?? ""),
      lines,
    },
    rest: text.slice(end + 1 + CLOSING.length).replace(/^\n+/u, ""),
  }
}

/** Merges adjacent notes. The lines of the later one come first: they are more relevant. */
export function mergeElisions(
  later: Elision,
  earlier: Elision,
  { maxLines = MAX_LINES }: { readonly maxLines?: number } = {},
): Elision {
  return {
    rounds: later.rounds + earlier.rounds,
    sessions: [...new Set([...later.sessions, ...earlier.sessions])].slice(0, MAX_SESSIONS),
    lines: mostImportant([...later.lines, ...earlier.lines], maxLines),
  }
}

/** Describes removed messages. Secrets are masked, because the note stays in the conversation. */
export function describeRemoved(
  messages: readonly Message[],
  options: {
    readonly rounds: number
    readonly sessionId: string
    readonly hint: string
    readonly digest: (call: DigestedCall) => string
    readonly redact: (text: string) => string
    readonly maxLines?: number
  },
): Elision {
  const line = (text: string, max: number): string =>
    ellipsize(options.redact(text).replaceAll(/\s+/gu, " ").trim(), max)
  const requests = messages.flatMap((message) =>
    message.role === "user" && isFromUser(message) && userText(message) !== ""
      ? [`- Asked: ${line(userText(message), MAX_REQUEST_CHARS)}`]
      : [],
  )
  const actions = actionsIn(messages).map((call) => `- Done: ${line(options.digest(call), MAX_ACTION_CHARS)}`)
  const hints = options.hint
    .split("\n")
    .filter((text) => text.trim() !== "")
    .slice(0, MAX_HINT_LINES)
    .map((text) => `- Note: ${line(text, MAX_ACTION_CHARS)}`)
  return {
    rounds: options.rounds,
    sessions: [options.sessionId],
    lines: mostImportant([...hints, ...requests.toReversed(), ...actions.toReversed()], options.maxLines ?? MAX_LINES),
  }
}

const RANKS = ["- Note:", "- Asked:", "- Done:"]

/** Hints first, then requests, then actions; without duplicates and at most `maxLines`. */
function mostImportant(lines: readonly string[], maxLines: number): readonly string[] {
  const unique = [...new Set(lines)]
  const rank = (text: string): number => RANKS.findIndex((opening) => text.startsWith(opening))
  return unique.toSorted((a, b) => rank(a) - rank(b)).slice(0, Math.min(maxLines, MAX_LINES))
}

/** The text of a user message without an elision note before it. */
export function userText(message: UserMessage): string {
  const text = contentText(message.content)
  return (splitNote(text)?.rest ?? text).trim()
}

export function actionsIn(messages: readonly Message[]): readonly DigestedCall[] {
  const results = new Map(
    messages.flatMap((message) => (message.role === "tool" ? [[message.tool_call_id, message] as const] : [])),
  )
  return messages.flatMap((message) =>
    message.role !== "assistant"
      ? []
      : (message.tool_calls ?? []).map((call) =>
          digestedCall(call.function.name, {
            args: call.function.arguments,
            result: contentText(results.get(call.id)?.content ?? ""),
          }),
        ),
  )
}

/** Puts a note before the text of a message, merged with a note that is already there. */
export function withElisionNote(message: UserMessage, elision: Elision): UserMessage {
  const { content } = message
  const first = typeof content === "string" ? content : contentText(content.slice(0, 1))
  const known = splitNote(first)
  const note = elisionNote(known === undefined ? elision : mergeElisions(known.elision, elision))
  if (typeof content === "string") {
    const rest = known === undefined ? content : known.rest
    return { ...message, content: rest === "" ? note : `${note}\n\n${rest}` }
  }
  const rest: readonly Part[] =
    known === undefined
      ? content
      : [...(known.rest === "" ? [] : [{ type: "text" as const, text: known.rest }]), ...content.slice(1)]
  return { ...message, content: [{ type: "text", text: note }, ...rest] }
}

/** The message without its note; undefined when it contains nothing else. */
export function withoutElisionNote(message: UserMessage): UserMessage | undefined {
  const { content } = message
  const note = splitNote(typeof content === "string" ? content : contentText(content.slice(0, 1)))
  if (note === undefined) return message
  if (typeof content === "string") return note.rest === "" ? undefined : { ...message, content: note.rest }
  const first: readonly Part[] = note.rest === "" ? [] : [{ type: "text", text: note.rest }]
  const parts = [...first, ...content.slice(1)]
  return parts.length === 0 ? undefined : { ...message, content: parts }
}

export function elisionMessage(elision: Elision): UserMessage {
  return { role: "user", content: elisionNote(elision), synthetic: "elision" }
}

/** The parsed note of a message; empty when it has none. */
export function elisionOf(message: Message): Elision {
  if (message.role !== "user") return NO_ELISION
  const { content } = message
  const first = typeof content === "string" ? content : contentText(content.slice(0, 1))
  return splitNote(first)?.elision ?? NO_ELISION
}
