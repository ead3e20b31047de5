import type { Message } from "../../../protocol/message.ts"
import { encodeOnce } from "../encode-once.ts"
import { EMPTY_MESSAGE, blocksOf, textBlock } from "./blocks.ts"
import type { Block } from "./blocks.ts"
import type { CacheLayout, ThinkingPolicy } from "./endpoint-traits.ts"

export type HistoryEncoder = (messages: readonly ConversationMessage[], options: HistoryOptions) => EncodedHistory

export interface EncodedHistory {
  /** The messages, separated by commas. */
  readonly json: string
  /** The request continues a tool loop that does not begin with thinking: another model made its first calls. */
  readonly loopLacksThinking: boolean
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
    kept: encodeOnce((message: ConversationMessage) => blocksOf(message, { images: "kept" })),
    omitted: encodeOnce((message: ConversationMessage) => blocksOf(message, { images: "omitted" })),
  }

  return (messages, options) => {
    const older = olderScreenshots(messages)
    const turns = joinTurns(
      messages.map((message, messageIndex) => ({
        role: message.role === "assistant" ? ("assistant" as const) : ("user" as const),
        blocks: blocksWith[older.has(message) ? "omitted" : "kept"](message).map((block) => ({ block, messageIndex })),
      })),
    )
    const complete = withThinking(withoutUnpairedToolBlocks(turns), options.thinking).map(withPlaceholder)
    const marked = markedBlocks(messages, complete, options.cache)
    const json = complete.map((turn) => turnJson(turn, (block) => (marked.has(block) ? options.cache.marker : "")))
    return { json: json.join(","), loopLacksThinking: loopLacksThinking(complete) }
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

/** Tool results whose images are omitted: screenshots of outdated states. */
function olderScreenshots(messages: readonly ConversationMessage[]): ReadonlySet<ConversationMessage> {
  const withImage = messages.filter(
    (message) =>
      message.role === "tool" &&
      typeof message.content !== "string" &&
      message.content.some((part) => part.type === "image_url"),
  )
  return new Set(withImage.slice(0, -SCREENSHOTS_KEPT))
}

/**
 * Alternates user and assistant turns, beginning with a user. Of joined assistant messages only the first keeps its
 * thinking.
 */
function joinTurns(turns: readonly Turn[]): readonly Turn[] {
  const joined: Turn[] = turns[0]?.role === "assistant" ? [added("user", EMPTY_MESSAGE)] : []
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

function withThinking(turns: readonly Turn[], policy: ThinkingPolicy): readonly Turn[] {
  const keepFrom = policy === "latest-signed" ? startOfLatestTurn(turns) : turns.length
  return turns.map((turn, index) => {
    if (!turn.blocks.some(({ block }) => block.kind === "thinking")) return turn
    const blocks = turn.blocks.flatMap((sourced): readonly SourcedBlock[] => {
      const { block } = sourced
      if (block.kind !== "thinking") return [sourced]
      if (policy === "unsigned") return block.signed ? [] : [sourced]
      if (index < keepFrom) return []
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
 * The model's latest turn spans all its tool calls since the user's last message. The server requires the thinking
 * inside it, and keeping all of it preserves the cached prefix during a long tool loop.
 */
function startOfLatestTurn(turns: readonly Turn[]): number {
  const latest = turns.findLastIndex(({ role }) => role === "assistant")
  const lastUser = turns.findLastIndex(
    ({ role, blocks }, index) =>
      index < latest && role === "user" && !blocks.some(({ block }) => block.kind === "tool_result"),
  )
  return latest === -1 ? turns.length : lastUser + 1
}

function loopLacksThinking(turns: readonly Turn[]): boolean {
  const continuesLoop = turns.at(-1)?.blocks.some(({ block }) => block.kind === "tool_result") === true
  if (!continuesLoop) return false
  const first = turns.slice(startOfLatestTurn(turns)).find(({ role }) => role === "assistant")
  return first !== undefined && first.blocks[0]?.block.kind !== "thinking"
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
  { layout, markers }: HistoryOptions["cache"],
): ReadonlySet<SourcedBlock> {
  if (layout === "none" || markers === 0) return new Set()
  const first = Math.max(0, messages.length - markers)
  const last = new Map<number, SourcedBlock>()
  for (const sourced of turns.flatMap(({ blocks }) => blocks)) {
    if (sourced.messageIndex < first || sourced.block.kind === "thinking") continue
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
