import { ellipsize } from "../../base/text.ts"
import { contentText, ELISION_NOTE_START } from "../../protocol/message.ts"
import type { Message, Part, ToolMessage, UserMessage } from "../../protocol/message.ts"
import type { DigestedCall } from "../../toolkit/tool.ts"
import { callProblem, digestedCall } from "./result-digest.ts"
import { isFromUser } from "./rounds.ts"
import { fitWords, mergeWords, NO_WORDS, parseWordLine, wordLines } from "./user-words.ts"
import type { UserWords, WordsBudget } from "./user-words.ts"

/** Rounds that a compression removed at one position of the history. The note about them replaces them (an elision note). */
export interface Elision {
  readonly rounds: number
  /** The sessions that store the removed messages, newest first. */
  readonly sessions: readonly string[]
  readonly words: UserWords
  /** Facts from memory. */
  readonly notes: readonly string[]
  /** One line for each tool call, newest first. */
  readonly done: readonly string[]
}

export const NO_ELISION: Elision = { rounds: 0, sessions: [], words: NO_WORDS, notes: [], done: [] }

export interface NoteLimits {
  readonly words: WordsBudget
  /** Maximum number of lines about tool calls. */
  readonly doneLines: number
}

const MAX_SESSIONS = 3
const MAX_LINE_CHARS = 160
const MAX_NOTES = 3

const CLOSING = "[END OF NOTE]"
const NOTE = "- Note: "
const DONE = "- Done: "
const NOT_DONE = "- Not done: "

export function elisionNote({ rounds, sessions, words, notes, done }: Elision): string {
  const ids = sessions.map((id) => `"${id}"`).join(", ")
  return [
    `${ELISION_NOTE_START} ${rounds} earlier ${rounds === 1 ? "round" : "rounds"} of this conversation. Requests in them are background and already handled; ` +
      "what the user decided or ruled out still holds. " +
      `Every message is kept word for word; session_search with session_id ${ids} (and a query or around_message_id) brings it back.]`,
    ...notes,
    ...wordLines(words),
    ...done,
    CLOSING,
  ].join("\n")
}

/** Splits a text into the note at its beginning and the rest; undefined when it starts with no note. */
export function splitNote(text: string): { readonly elision: Elision; readonly rest: string } | undefined {
  if (!text.startsWith(ELISION_NOTE_START)) return undefined
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
      words: lines.reduce((words, line) => mergeWords(words, parseWordLine(line) ?? NO_WORDS), NO_WORDS),
      notes: lines.filter((line) => line.startsWith(NOTE)),
      done: lines.filter((line) => line.startsWith(DONE) || line.startsWith(NOT_DONE)),
    },
    rest: text.slice(end + 1 + CLOSING.length).replace(/^\n+/u, ""),
  }
}

/** Merges adjacent notes. */
export function mergeElisions(earlier: Elision, later: Elision, limits: NoteLimits): Elision {
  return {
    rounds: later.rounds + earlier.rounds,
    sessions: [...new Set([...later.sessions, ...earlier.sessions])].slice(0, MAX_SESSIONS),
    words: fitWords(mergeWords(earlier.words, later.words), limits.words),
    notes: [...new Set([...later.notes, ...earlier.notes])].slice(0, MAX_NOTES),
    done: [...new Set([...later.done, ...earlier.done])].slice(0, limits.doneLines),
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
    readonly limits: NoteLimits
  },
): Elision {
  const line = (text: string): string => ellipsize(options.redact(text).replaceAll(/\s+/gu, " ").trim(), MAX_LINE_CHARS)
  const said = messages.flatMap((message) => {
    const text = message.role === "user" && isFromUser(message) ? options.redact(userText(message)) : ""
    return text === "" ? [] : [text]
  })
  const hints = options.hint.split("\n").filter((text) => text.trim() !== "")
  const done = actionsIn(messages).map(
    (call) => `${callProblem(call) === undefined ? DONE : NOT_DONE}${line(options.digest(call))}`,
  )
  return {
    rounds: options.rounds,
    sessions: [options.sessionId],
    words: fitWords({ said, listed: [] }, options.limits.words),
    notes: hints.slice(0, MAX_NOTES).map((text) => `${NOTE}${line(text)}`),
    done: [...new Set(done.toReversed())].slice(0, options.limits.doneLines),
  }
}

/** The text of a user message without an elision note before it. */
export function userText(message: UserMessage): string {
  const text = contentText(message.content)
  return (splitNote(text)?.rest ?? text).trim()
}

export function actionsIn(messages: readonly Message[]): readonly DigestedCall[] {
  return messages.flatMap((message, index) => {
    if (message.role !== "assistant") return []
    const results = resultsOfRound(messages, index)
    return (message.tool_calls ?? []).map((call) =>
      digestedCall(call.function.name, {
        args: call.function.arguments,
        result: contentText(results.get(call.id)?.content ?? ""),
      }),
    )
  })
}

/** The results before the next assistant message, by call id. Old histories repeat ids in later rounds. */
function resultsOfRound(messages: readonly Message[], assistant: number): ReadonlyMap<string, ToolMessage> {
  const results = new Map<string, ToolMessage>()
  for (let index = assistant + 1; index < messages.length; index += 1) {
    const message = messages[index]
    if (message?.role === "assistant") break
    if (message?.role === "tool") results.set(message.tool_call_id, message)
  }
  return results
}

/**
 * Puts a note before the text of a message, merged with a note that is already there. `gap` says whether the removed rounds came
 * before or after the message.
 */
export function withElisionNote(
  message: UserMessage,
  elision: Elision,
  { gap, limits }: { readonly gap: "before" | "after"; readonly limits: NoteLimits },
): UserMessage {
  const { content } = message
  const first = typeof content === "string" ? content : contentText(content.slice(0, 1))
  const known = splitNote(first)
  const [earlier, later] = gap === "before" ? [elision, known?.elision] : [known?.elision, elision]
  const note = elisionNote(mergeElisions(earlier ?? NO_ELISION, later ?? NO_ELISION, limits))
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
