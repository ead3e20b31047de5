import { ellipsize } from "../../base/text.ts"
import { contentText } from "../../protocol/message.ts"
import type { Message, Part, UserMessage } from "../../protocol/message.ts"
import type { DigestedCall } from "../../toolkit/tool.ts"
import { digestedCall } from "./result-digest.ts"
import { isFromPerson } from "./rounds.ts"

/** What was left out at one place. */
export interface Elision {
  readonly rounds: number
  /** Where the messages are stored, newest first. */
  readonly sessions: readonly string[]
  /** What was asked and done, most telling first. */
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
  const places = sessions.map((id) => `"${id}"`).join(", ")
  return [
    `${OPENING} ${rounds} earlier ${rounds === 1 ? "round" : "rounds"} of this conversation. They are background and already handled. ` +
      `Every message is kept word for word; session_search with session_id ${places} (and a query or around_message_id) brings it back.]`,
    ...lines,
    CLOSING,
  ].join("\n")
}

/** The note at the beginning of a message, and what follows it. */
export function splitNote(text: string): { readonly elision: Elision; readonly rest: string } | undefined {
  if (!text.startsWith(OPENING)) return undefined
  const end = text.indexOf(`\n${CLOSING}`)
  if (end === -1) return undefined
  const [first = "", ...lines] = text.slice(0, end).split("\n")
  const rounds = /^\[LEFT OUT TO SAVE SPACE: (\d+) /u.exec(first)?.[1]
  if (rounds === undefined) return undefined
  const places = first.slice(first.indexOf("session_id "), first.indexOf(" (and a query"))
  return {
    elision: {
      rounds: Number(rounds),
      sessions: [...places.matchAll(/"([^"]+)"/gu)].map((found) => found[1] ?? ""),
      lines,
    },
    rest: text.slice(end + 1 + CLOSING.length).replace(/^\n+/u, ""),
  }
}

/** Notes side by side become one: the later one tells more about what goes on now. */
export function mergeElisions(
  later: Elision,
  earlier: Elision,
  { maxLines = MAX_LINES }: { readonly maxLines?: number } = {},
): Elision {
  return {
    rounds: later.rounds + earlier.rounds,
    sessions: [...new Set([...later.sessions, ...earlier.sessions])].slice(0, MAX_SESSIONS),
    lines: mostTelling([...later.lines, ...earlier.lines], maxLines),
  }
}

/** What the removed messages were about; secrets are masked, because the note stays when the results are gone. */
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
    message.role === "user" && isFromPerson(message) && spokenText(message) !== ""
      ? [`- Asked: ${line(spokenText(message), MAX_REQUEST_CHARS)}`]
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
    lines: mostTelling([...hints, ...requests.toReversed(), ...actions.toReversed()], options.maxLines ?? MAX_LINES),
  }
}

const RANKS = ["- Note:", "- Asked:", "- Done:"]

/** Requests before actions, no line twice, and no more than a few: at least half of the room is for requests. */
function mostTelling(lines: readonly string[], maxLines: number): readonly string[] {
  const unique = [...new Set(lines)]
  const rank = (text: string): number => RANKS.findIndex((opening) => text.startsWith(opening))
  return unique.toSorted((a, b) => rank(a) - rank(b)).slice(0, Math.min(maxLines, MAX_LINES))
}

/** The person's words without a note that stands before them. */
export function spokenText(message: UserMessage): string {
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

/** Puts a note before the words of a message; a note that is there already is taken up into it. */
export function withNote(message: UserMessage, elision: Elision): UserMessage {
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

/** The message without its note; undefined when nothing else is in it. */
export function withoutNote(message: UserMessage): UserMessage | undefined {
  const { content } = message
  const note = splitNote(typeof content === "string" ? content : contentText(content.slice(0, 1)))
  if (note === undefined) return message
  if (typeof content === "string") return note.rest === "" ? undefined : { ...message, content: note.rest }
  const first: readonly Part[] = note.rest === "" ? [] : [{ type: "text", text: note.rest }]
  const parts = [...first, ...content.slice(1)]
  return parts.length === 0 ? undefined : { ...message, content: parts }
}

export function noteMessage(elision: Elision): UserMessage {
  return { role: "user", content: elisionNote(elision), synthetic: "elision" }
}

/** The note that a message carries, if any. */
export function elisionOf(message: Message): Elision {
  if (message.role !== "user") return NO_ELISION
  const { content } = message
  const first = typeof content === "string" ? content : contentText(content.slice(0, 1))
  return splitNote(first)?.elision ?? NO_ELISION
}
