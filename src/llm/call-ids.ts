import { foldGrowingList } from "../base/fold-growing-list.ts"
import { isRecord, stringField } from "../base/json.ts"
import type { AssistantMessage, Message, ToolCall, ToolMessage } from "../protocol/message.ts"
import type { ModelReply } from "./model.ts"

/**
 * Results refer to their call by its id, and some vendors reject a conversation in which two calls have the same one. Ids from a server
 * are not always unique: Gemini and some Chat Completions servers send none, and some local servers number the calls of each reply
 * from 0.
 */

/**
 * Gives every call of a reply an id that no earlier call of the conversation has. The id is stored with the message, so later requests
 * send the same one.
 */
export function withUniqueCallIds(
  reply: ModelReply,
  { used, random }: { readonly used: ReadonlySet<string>; readonly random: () => number },
): ModelReply {
  if (reply.toolCalls.length === 0) return reply
  const own = new Set<string>()
  const ids = reply.toolCalls.map(({ id }) => claimId(id === "" ? randomId(random) : id, own, used))
  if (reply.toolCalls.every((call, index) => call.id === ids[index])) return reply
  const { carriers } = reply
  const blocks = carriers.anthropic_content_blocks
  return {
    ...reply,
    toolCalls: withIds(reply.toolCalls, ids),
    ...(blocks === undefined
      ? {}
      : { carriers: { ...carriers, anthropic_content_blocks: blocksWithIds(blocks, reply.toolCalls, ids) } }),
  }
}

export interface HistoryWithIds {
  readonly messages: readonly Message[]
  /** The ids of all calls. */
  readonly used: ReadonlySet<string>
}

/**
 * Renames repeated ids in stored histories: the Python edition and earlier versions of Hermes gave equal calls equal ids. The new ids
 * depend only on the messages before, and the same message is returned as the same object, so that its cached encoding stays valid.
 */
export function createHistoryIds(): (messages: readonly Message[]) => HistoryWithIds {
  const renamed = new WeakMap<Message, { readonly key: string; readonly message: Message }>()
  const once = <M extends Message>(message: M, key: string, rename: () => M): Message => {
    const known = renamed.get(message)
    if (known?.key === key) return known.message
    const next = rename()
    renamed.set(message, { key, message: next })
    return next
  }
  const fold = foldGrowingList(newNaming, (naming, message: Message) => {
    const sent = withUnusedIds(message, naming, once)
    naming.sent.push(sent)
    naming.hasRenamed ||= sent !== message
  })
  return (messages) => {
    const { used, sent, hasRenamed } = fold(messages)
    // A copy, because the list continues with the next request.
    return { used, messages: hasRenamed ? [...sent] : messages }
  }
}

interface Naming {
  readonly used: Set<string>
  /** The ids of the calls that still wait for a result, by their stored id. */
  waiting: Map<string, string[]>
  readonly sent: Message[]
  hasRenamed: boolean
}

function newNaming(): Naming {
  return { used: new Set(), waiting: new Map(), sent: [], hasRenamed: false }
}

function withUnusedIds(
  message: Message,
  naming: Naming,
  once: <M extends Message>(message: M, key: string, rename: () => M) => Message,
): Message {
  if (message.role === "assistant") {
    const calls = message.tool_calls ?? []
    const ids = calls.map(({ id }) => claimId(id, naming.used))
    naming.waiting = new Map()
    for (const [index, { id }] of calls.entries())
      naming.waiting.set(id, [...(naming.waiting.get(id) ?? []), ids[index] ?? id])
    return calls.every((call, index) => call.id === ids[index])
      ? message
      : once(message, ids.join("\n"), () => assistantWithIds(message, ids))
  }
  if (message.role !== "tool") return message
  const id = naming.waiting.get(message.tool_call_id)?.shift() ?? message.tool_call_id
  return id === message.tool_call_id
    ? message
    : once(message, id, (): ToolMessage => ({ ...message, tool_call_id: id }))
}

/** Returns the id, or with a number appended when it is used, and marks it as used. */
function claimId(wanted: string, used: Set<string>, alsoUsed?: ReadonlySet<string>): string {
  let id = wanted
  for (let copy = 2; used.has(id) || alsoUsed?.has(id) === true; copy += 1) id = `${wanted}_${copy}`
  used.add(id)
  return id
}

const RANDOM_ID_DIGITS = 12

function randomId(random: () => number): string {
  const digits = Math.floor(random() * 16 ** RANDOM_ID_DIGITS).toString(16)
  return `call_${digits.padStart(RANDOM_ID_DIGITS, "0")}`
}

function assistantWithIds(message: AssistantMessage, ids: readonly string[]): AssistantMessage {
  const calls = message.tool_calls ?? []
  const blocks = message.anthropic_content_blocks
  return {
    ...message,
    tool_calls: withIds(calls, ids),
    ...(blocks === undefined ? {} : { anthropic_content_blocks: blocksWithIds(blocks, calls, ids) }),
  }
}

function withIds(calls: readonly ToolCall[], ids: readonly string[]): readonly ToolCall[] {
  return calls.map((call, index) => {
    const id = ids[index] ?? call.id
    if (id === call.id) return call
    return { ...call, id, ...(call.call_id === undefined ? {} : { call_id: id }) }
  })
}

/** Blocks refer to the calls by id, equal ids in the order of the calls. */
function blocksWithIds(
  blocks: readonly unknown[],
  calls: readonly ToolCall[],
  ids: readonly string[],
): readonly unknown[] {
  const left = calls.map((call, index) => ({ from: call.id, to: ids[index] ?? call.id }))
  return blocks.map((block) => {
    if (!isRecord(block) || block["type"] !== "tool_use") return block
    const index = left.findIndex(({ from }) => from === (stringField(block, "id") ?? ""))
    const [found] = index === -1 ? [] : left.splice(index, 1)
    return found === undefined ? block : { ...block, id: found.to }
  })
}
