import type { AssistantMessage, Message, ToolMessage } from "../../../protocol/message.ts"
import { encodeRecent } from "../encode-recent.ts"
import { roundEnd } from "../rounds.ts"
import type { HistoryEncoding } from "../wire.ts"
import { EMPTY_MESSAGE, blocksOf, textBlock, wireId } from "./blocks.ts"
import type { Block } from "./blocks.ts"
import type { CacheLayout, ThinkingPolicy } from "./endpoint-traits.ts"

export type HistoryEncoder = (messages: readonly ConversationMessage[], options: HistoryOptions) => AnthropicHistory

export interface AnthropicHistory extends HistoryEncoding {
  /** The request continues a tool loop that does not begin with thinking: another model made its first calls. */
  loopLacksThinking(): boolean
}

/** This format sends system text apart from the messages. */
export type ConversationMessage = Exclude<Message, { role: "system" }>

export interface HistoryOptions {
  readonly thinking: ThinkingPolicy
  /** `markers`: how many of the newest messages get a cache marker. */
  readonly cache: { readonly layout: CacheLayout; readonly markers: number; readonly marker: string }
}

export function createHistoryEncoder(): HistoryEncoder {
  const blocksWith = {
    kept: encodeRecent((message: ConversationMessage) => blocksOf(message, { images: "kept" })),
    omitted: encodeRecent((message: ConversationMessage) => blocksOf(message, { images: "omitted" })),
  }

  return (messages, { thinking, cache }) => {
    const lastOmitted = lastOmittedScreenshot(messages)
    const latestTurn = startOfLatestTurn(messages)
    const firstMarked = cache.layout === "none" ? messages.length : Math.max(0, messages.length - cache.markers)
    const turnsOf = (from: number, to: number): readonly Turn[] => {
      const turns = messages.slice(from, to).map((message, offset): Turn => {
        const messageIndex = from + offset
        const blocks = blocksWith[messageIndex <= lastOmitted ? "omitted" : "kept"](message)
        return {
          role: message.role === "assistant" ? "assistant" : "user",
          blocks: blocks.map((block) => ({ block, messageIndex })),
        }
      })
      const paired = withoutUnpairedToolBlocks(joinTurns(turns, { isStart: from === 0 }))
      return withThinking(paired, { policy: thinking, isLatestTurn: from >= latestTurn }).map(withPlaceholder)
    }
    return {
      messages,
      format: thinking,
      settled: firstMarked,
      variant: (from, to) => {
        const omitted = Math.min(Math.max(lastOmitted + 1 - from, 0), to - from)
        return 2 * omitted + (from >= latestTurn ? 1 : 0)
      },
      encode: (from, to) => {
        const turns = turnsOf(from, to)
        const marked = markedBlocks(messages, turns, { ...cache, firstMarked })
        return turns.map((turn) => turnJson(turn, (block) => (marked.has(block) ? cache.marker : ""))).join(",")
      },
      loopLacksThinking: () => {
        const last = turnsOf(lastRoundStart(messages), messages.length).at(-1)
        if (last?.blocks.some(({ block }) => block.kind === "tool_result") !== true) return false
        const first = turnsOf(latestTurn, roundEnd(messages, latestTurn)).find(({ role }) => role === "assistant")
        return first !== undefined && first.blocks[0]?.block.kind !== "thinking"
      },
    }
  }
}

interface Turn {
  readonly role: "user" | "assistant"
  readonly blocks: readonly SourcedBlock[]
  /** Why blocks were removed; sent as text when no block is left. */
  readonly removalNote?: "(tool call removed)" | "(tool result removed)" | "(thinking elided)"
}

interface SourcedBlock {
  readonly block: Block
  /** Index of the message the block came from; -1 for an added block. */
  readonly messageIndex: number
}

const SCREENSHOTS_KEPT = 3

/** The index of the newest tool result whose images are omitted, as those of all before: screenshots of outdated states. */
function lastOmittedScreenshot(messages: readonly ConversationMessage[]): number {
  let kept = 0
  return messages.findLastIndex((message) => {
    if (message.role !== "tool" || typeof message.content === "string") return false
    if (!message.content.some((part) => part.type === "image_url")) return false
    kept += 1
    return kept > SCREENSHOTS_KEPT
  })
}

/**
 * Alternates user and assistant turns; the conversation begins with a user. Of joined assistant messages only the first keeps its
 * thinking.
 */
function joinTurns(turns: readonly Turn[], { isStart }: { readonly isStart: boolean }): readonly Turn[] {
  const joined: Turn[] = isStart && turns[0]?.role === "assistant" ? [added("user", EMPTY_MESSAGE)] : []
  for (const turn of turns) {
    const last = joined.at(-1)
    if (last?.role !== turn.role) {
      joined.push(turn)
    } else if (turn.role === "assistant") {
      const withoutThinking = turn.blocks.filter(({ block }) => block.kind !== "thinking")
      joined[joined.length - 1] = { ...last, blocks: [...last.blocks, ...withoutThinking] }
    } else {
      joined[joined.length - 1] = { ...last, blocks: resultsFirst([...last.blocks, ...turn.blocks]) }
    }
  }
  return joined
}

/** The server requires tool results directly after the calls; other blocks follow them. */
function resultsFirst(blocks: readonly SourcedBlock[]): readonly SourcedBlock[] {
  const isResult = ({ block }: SourcedBlock): boolean => block.kind === "tool_result"
  return [...blocks.filter(isResult), ...blocks.filter((sourced) => !isResult(sourced))]
}

/** Removes calls without a result in the next turn and results without a call in the previous one. */
function withoutUnpairedToolBlocks(turns: readonly Turn[]): readonly Turn[] {
  return turns.map((turn, index) => {
    if (turn.role === "assistant") {
      const withResult = idsIn(turns[index + 1], "tool_result")
      const blocks = turn.blocks.filter(({ block }) => block.kind !== "tool_use" || withResult.has(block.id))
      return blocks.length === turn.blocks.length ? turn : { ...turn, blocks, removalNote: "(tool call removed)" }
    }
    const called = idsIn(turns[index - 1], "tool_use")
    const blocks = turn.blocks.filter(({ block }) => block.kind !== "tool_result" || called.has(block.id))
    return blocks.length === turn.blocks.length ? turn : { ...turn, blocks, removalNote: "(tool result removed)" }
  })
}

function idsIn(turn: Turn | undefined, kind: "tool_use" | "tool_result"): ReadonlySet<string> {
  return new Set((turn?.blocks ?? []).flatMap(({ block }) => (block.kind === kind ? [block.id] : [])))
}

function withThinking(
  turns: readonly Turn[],
  { policy, isLatestTurn }: { readonly policy: ThinkingPolicy; readonly isLatestTurn: boolean },
): readonly Turn[] {
  const isKept = policy === "latest-signed" && isLatestTurn
  return turns.map((turn) => {
    if (!turn.blocks.some(({ block }) => block.kind === "thinking")) return turn
    const blocks = turn.blocks.flatMap((sourced): readonly SourcedBlock[] => {
      const { block } = sourced
      if (block.kind !== "thinking") return [sourced]
      if (policy === "unsigned") return block.signed ? [] : [sourced]
      if (!isKept) return []
      // A signature covers the whole turn; when a call was removed, the thinking can only go back as text.
      if (block.signed && turn.removalNote !== "(tool call removed)") return [sourced]
      return block.text === "" ? [] : [{ block: textBlock(block.text), messageIndex: sourced.messageIndex }]
    })
    return blocks.length === turn.blocks.length
      ? { ...turn, blocks }
      : { removalNote: "(thinking elided)", ...turn, blocks }
  })
}

/**
 * The index at which the model's latest turn begins. It spans all its tool calls since the user's last message. The server requires the
 * thinking inside it, and keeping all of it preserves the cached prefix during a long tool loop.
 */
function startOfLatestTurn(messages: readonly ConversationMessage[]): number {
  const latest = messages.findLastIndex(({ role }) => role === "assistant")
  if (latest === -1) return messages.length
  let start = startOfReply(messages, latest)
  // Goes back over the rounds whose calls have results.
  while (start > 0) {
    const reply = startOfResults(messages, start) - 1
    if (reply === -1) return start
    const previous = startOfReply(messages, reply)
    if (!hasResults(messages, { previous, reply, start })) return start
    start = previous
  }
  return 0
}

function lastRoundStart(messages: readonly ConversationMessage[]): number {
  const latest = messages.findLastIndex(({ role }) => role === "assistant")
  return latest === -1 ? 0 : startOfReply(messages, latest)
}

/** The first of the assistant messages in a row of which this is the last. */
function startOfReply(messages: readonly ConversationMessage[], last: number): number {
  let index = last
  while (messages[index - 1]?.role === "assistant") index -= 1
  return index
}

/** The first message after the reply before this index. */
function startOfResults(messages: readonly ConversationMessage[], end: number): number {
  let index = end
  while (index > 0 && messages[index - 1]?.role !== "assistant") index -= 1
  return index
}

/** Whether a call in the messages from `previous` to `reply` has its result before `start`. */
function hasResults(
  messages: readonly ConversationMessage[],
  { previous, reply, start }: { readonly previous: number; readonly reply: number; readonly start: number },
): boolean {
  for (let index = reply + 1; index < start; index += 1) {
    const result = messages[index]
    if (result?.role !== "tool") continue
    for (let caller = reply; caller >= previous; caller -= 1) {
      const message = messages[caller]
      if (message?.role === "assistant" && hasCall(message, result)) return true
    }
  }
  return false
}

function hasCall({ tool_calls: calls = [] }: AssistantMessage, { tool_call_id: id }: ToolMessage): boolean {
  return calls.some((call) => call.id === id) || calls.some((call) => wireId(call.id) === wireId(id))
}

function withPlaceholder(turn: Turn): Turn {
  return turn.blocks.length > 0 ? turn : added(turn.role, turn.removalNote ?? EMPTY_MESSAGE)
}

function added(role: Turn["role"], text: string): Turn {
  return { role, blocks: [{ block: textBlock(text), messageIndex: -1 }] }
}

/** The last block of each of the newest messages, which gets the cache marker. Thinking blocks cannot have one. */
function markedBlocks(
  messages: readonly ConversationMessage[],
  turns: readonly Turn[],
  { layout, firstMarked }: { readonly layout: CacheLayout; readonly firstMarked: number },
): ReadonlySet<SourcedBlock> {
  const last = new Map<number, SourcedBlock>()
  for (const sourced of turns.flatMap(({ blocks }) => blocks)) {
    if (sourced.messageIndex < firstMarked || sourced.block.kind === "thinking") continue
    if (layout === "envelope" && messages[sourced.messageIndex]?.role === "tool") continue
    last.set(sourced.messageIndex, sourced)
  }
  return new Set(last.values())
}

/** The marker comes last in its block, so that removing it later leaves the preceding bytes unchanged. */
function turnJson(turn: Turn, markerOf: (sourced: SourcedBlock) => string): string {
  const blocks = turn.blocks.map((sourced) => {
    const marker = markerOf(sourced)
    return marker === "" ? sourced.block.json : `${sourced.block.json.slice(0, -1)},"cache_control":${marker}}`
  })
  return `{"role":"${turn.role}","content":[${blocks.join(",")}]}`
}
