import { foldGrowingList } from "../base/fold-growing-list.ts"
import { canonicalJson, parseJson } from "../base/json.ts"
import { oncePerObject } from "../base/once-per-object.ts"
import type { AssistantMessage, Message, Part, ToolCall, ToolMessage, UserMessage } from "../protocol/message.ts"

/**
 * Returns a history that every wire accepts, from messages in any order that a store can contain: two processes or another edition
 * may have written them. Calls without a result get one: they are left behind when storing failed in the middle of a turn, or while
 * another process still runs them. A message always becomes the same object, so its cached encoding stays valid.
 */
export function repairHistory(messages: readonly Message[]): readonly Message[] {
  if (isSound(messages)) return messages
  return joinUserMessages(separateReplies(settleCalls(groupResults(messages))))
}

/** Almost every history is sound. This runs for every request, so each message is checked once. */
function isSound(messages: readonly Message[]): boolean {
  const { isSound: isValid, open } = checkOrder(messages)
  return isValid && open.length === 0
}

interface OrderCheck {
  isSound: boolean
  before: Message["role"] | undefined
  /** Calls of the last reply without a result so far, in order. */
  open: readonly ToolCall[]
}

const checkOrder = foldGrowingList(
  (): OrderCheck => ({ isSound: true, before: undefined, open: [] }),
  (state, message: Message) => {
    const [call] = state.open
    if (call !== undefined) {
      // Results in another order than their calls are sound too, but rare: the repair leaves them as they are.
      if (message.role !== "tool" || message.tool_call_id !== call.id) state.isSound = false
      state.open = state.open.slice(1)
      return
    }
    if (message.role === "tool" || message.role === "system" || message.role === state.before) state.isSound = false
    state.open = message.role === "assistant" ? (message.tool_calls ?? []) : []
    state.before = state.open.length === 0 ? message.role : undefined
  },
)

/** Repairs a history in memory, where consecutive user messages stay separate and the last calls may still run. */
export function repairOrder(messages: readonly Message[]): readonly Message[] {
  return separateReplies(groupResults(messages))
}

/**
 * Repairs the messages of a store for use in memory, where consecutive user messages stay separate. A message that the repair adds
 * gets the row of the stored message next to it, so that undoing from there removes the right rows.
 */
export function repairStoredHistory(rows: ReadonlyMap<Message, number>): ReadonlyMap<Message, number> {
  const messages = separateReplies(settleCalls(groupResults([...rows.keys()])))
  const repaired = new Map<Message, number>()
  let previous = 0
  for (const [index, message] of messages.entries()) {
    const next = messages[index + 1]
    const row = rows.get(message) ?? (next?.role === "assistant" ? rows.get(next) : undefined) ?? previous
    // A gap note is one object; each use needs a key of its own.
    repaired.set(repaired.has(message) ? { ...message } : message, row)
    previous = row
  }
  return repaired
}

/**
 * Merges consecutive user messages that Hermes wrote with those next to them. Two messages of the user are separated instead: the
 * model must not carry out a request that was interrupted as if it were part of the next one.
 */
function joinUserMessages(messages: readonly Message[]): readonly Message[] {
  const joined: Message[] = []
  for (const message of messages) {
    const last = joined.at(-1)
    if (message.role !== "user" || last?.role !== "user") joined.push(message)
    else if (message.synthetic === undefined && last.synthetic === undefined) joined.push(NO_REPLY, message)
    else joined[joined.length - 1] = mergeUsers(last, message)
  }
  return joined.some((message, index) => message !== messages[index]) ? joined : messages
}

/** The same object each time, so that its encoding is cached. */
const NO_REPLY: AssistantMessage = {
  role: "assistant",
  content:
    "[There was no reply to this message: it was interrupted or failed, or another process is answering it. It is not part of the next message.]",
}

/** Puts a synthetic user message between two replies. */
function separateReplies(messages: readonly Message[]): readonly Message[] {
  const separated = messages.flatMap((message, index): readonly Message[] =>
    message.role === "assistant" && messages[index - 1]?.role === "assistant" ? [NO_USER_MESSAGE, message] : [message],
  )
  return separated.length === messages.length ? messages : separated
}

/** The same object each time, so that its encoding is cached. */
const NO_USER_MESSAGE: UserMessage = {
  role: "user",
  content: "[No user message is stored between the two replies around this note.]",
  synthetic: "gap",
}

interface MessageGroup {
  readonly message: Exclude<Message, ToolMessage>
  /** The calls of the message and their results so far. */
  readonly results: Map<string, ToolMessage | undefined>
}

/** Moves every result directly behind its call, and drops results without a call and repeated ones. */
function groupResults(messages: readonly Message[]): readonly Message[] {
  let repairs = 0
  const groups: MessageGroup[] = []
  /** The newest message with a call of this id; some servers use the same ids again and again. */
  const callers = new Map<string, MessageGroup>()
  for (const message of messages) {
    if (message.role === "system") {
      repairs += 1
      continue
    }
    if (message.role !== "tool") {
      const group: MessageGroup = { message, results: new Map() }
      for (const { id } of message.role === "assistant" ? (message.tool_calls ?? []) : []) {
        group.results.set(id, undefined)
        callers.set(id, group)
      }
      groups.push(group)
      continue
    }
    const caller = callers.get(message.tool_call_id)
    const known = caller?.results.get(message.tool_call_id)
    const replaces = known !== undefined && isUnknownOutcome(known) && !isUnknownOutcome(message)
    if (caller !== undefined && (known === undefined || replaces)) {
      // Deleted first, so that the map keeps the order in which results arrived.
      caller.results.delete(message.tool_call_id)
      caller.results.set(message.tool_call_id, message)
      if (replaces || caller !== groups.at(-1)) repairs += 1
    } else {
      repairs += 1
    }
  }
  if (repairs === 0) return messages
  const present = (results: MessageGroup["results"]): readonly ToolMessage[] =>
    [...results.values()].filter((result) => result !== undefined)
  return groups.flatMap(({ message, results }) => [message, ...present(results)])
}

/** True for the result that a resuming process wrote for a call of which it knew nothing. */
function isUnknownOutcome({ content }: ToolMessage): boolean {
  return typeof content === "string" && content.startsWith(UNKNOWN_OUTCOME_START)
}

/** The same object each time, so that its encoding is cached. */
function mergeUsers(first: UserMessage, second: UserMessage): UserMessage {
  const known = merged.get(second)
  if (known?.first === first) return known.message
  const message = mergedUsers(first, second)
  merged.set(second, { first, message })
  return message
}

const merged = new WeakMap<UserMessage, { readonly first: UserMessage; readonly message: UserMessage }>()

function mergedUsers(first: UserMessage, second: UserMessage): UserMessage {
  const injected = [first.injected, second.injected].filter((text) => text !== undefined).join("\n\n")
  const content =
    typeof first.content === "string" && typeof second.content === "string"
      ? `${first.content}\n\n${second.content}`
      : [...parts(first.content), ...parts(second.content)]
  const { injected: _dropped, ...rest } = second
  return { ...rest, content, ...(injected === "" ? {} : { injected }) }
}

function parts(content: string | readonly Part[]): readonly Part[] {
  return typeof content === "string" ? [{ type: "text", text: content }] : content
}

/** Results for the last calls without one: the process ended while they ran. The calls are reported, never run again. */
export function resultsForUnsettledCalls(messages: readonly Message[]): readonly ToolMessage[] {
  const grouped = groupResults(messages)
  const lastAssistant = grouped.findLastIndex((message) => message.role === "assistant")
  const assistant = grouped[lastAssistant]
  return assistant?.role === "assistant" ? missingResults(assistant, resultsAfter(grouped, lastAssistant)) : []
}

function settleCalls(repaired: readonly Message[]): readonly Message[] {
  const settled: Message[] = []
  let open: ToolMessage[] = []
  for (const [index, message] of repaired.entries()) {
    if (message.role !== "tool") settled.push(...open.splice(0))
    settled.push(message)
    if (message.role === "assistant") open = missingResults(message, resultsAfter(repaired, index))
  }
  settled.push(...open)
  return settled.length === repaired.length ? repaired : settled
}

/** The tool messages directly after an assistant message. */
function resultsAfter(messages: readonly Message[], assistant: number): readonly ToolMessage[] {
  const results: ToolMessage[] = []
  for (let index = assistant + 1, next = messages[index]; next?.role === "tool"; next = messages[index]) {
    results.push(next)
    index += 1
  }
  return results
}

const UNKNOWN_OUTCOME =
  "The outcome of this call is unknown: Hermes stopped while it ran. It may have had effects. Check before you repeat it."
const UNKNOWN_OUTCOME_START = `{"error":"The outcome of this call is unknown`

function missingResults(assistant: AssistantMessage, results: readonly ToolMessage[]): ToolMessage[] {
  if (assistant.tool_calls === undefined || assistant.tool_calls.length === 0) return []
  const answered = new Set(results.map((message) => message.tool_call_id))
  return assistant.tool_calls.filter((call) => !answered.has(call.id)).map(unknownResult)
}

const unknownResult = oncePerObject((call: ToolCall): ToolMessage => ({
  role: "tool",
  tool_call_id: call.id,
  tool_name: call.function.name,
  content: JSON.stringify({ error: UNKNOWN_OUTCOME, status: "unknown" }),
}))

/** Drops repeated calls of one reply before anything is stored or run. The model client has given each call its own id. */
export function withoutDuplicateCalls(calls: readonly ToolCall[]): readonly ToolCall[] {
  const seen = new Set<string>()
  return calls.filter((call) => {
    const key = `${call.function.name}\n${canonicalArguments(call.function.arguments)}`
    const isNew = !seen.has(key)
    seen.add(key)
    return isNew
  })
}

function canonicalArguments(text: string): string {
  const parsed = parseJson(text)
  return parsed === undefined ? text : canonicalJson(parsed)
}
