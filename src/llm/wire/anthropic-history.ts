import type { Message } from "../../protocol/message.ts"
import { EMPTY_MESSAGE, blocksOf, textBlock } from "./anthropic-blocks.ts"
import type { Block } from "./anthropic-blocks.ts"
import type { CacheLayout, ThinkingPolicy } from "./anthropic-places.ts"

/** Turns a history into the messages of this wire; keeps the bytes of every message it has seen. */
export interface HistoryEncoder {
  /** `markers` is how many of the newest messages get a cache marker. */
  encode(messages: readonly Said[], options: HistoryOptions): string
}

/** System text is not part of the conversation on this wire. */
export type Said = Exclude<Message, { role: "system" }>

export interface HistoryOptions {
  readonly thinking: ThinkingPolicy
  readonly cache: { readonly layout: CacheLayout; readonly markers: number; readonly marker: string }
}

export function createHistoryEncoder(): HistoryEncoder {
  const encoded = { kept: new WeakMap<Message, readonly Block[]>(), named: new WeakMap<Message, readonly Block[]>() }

  const blocksOnce = (message: Said, images: keyof typeof encoded): readonly Block[] => {
    const known = encoded[images].get(message)
    if (known !== undefined) return known
    const blocks = blocksOf(message, { images })
    encoded[images].set(message, blocks)
    return blocks
  }

  return {
    encode: (messages, options) => {
      const older = withOlderScreenshots(messages)
      const turns = joinTurns(
        messages.map((message, from) => ({
          role: message.role === "assistant" ? ("assistant" as const) : ("user" as const),
          blocks: blocksOnce(message, older.has(message) ? "named" : "kept").map((block) => ({ block, from })),
        })),
      )
      const whole = withThinking(withPairs(turns), options.thinking).map(withoutGaps)
      const marked = markedBlocks(messages, whole, options.cache)
      return whole.map((turn) => turnJson(turn, (placed) => (marked.has(placed) ? options.cache.marker : ""))).join(",")
    },
  }
}

interface Turn {
  readonly role: "user" | "assistant"
  readonly blocks: readonly Placed[]
  /** Why blocks are missing; said in their place when nothing is left. */
  readonly gap?: "(tool call removed)" | "(tool result removed)" | "(thinking elided)"
}

interface Placed {
  readonly block: Block
  /** Position of the message it came from; -1 for what we added. */
  readonly from: number
}

const SCREENSHOTS_KEPT = 3

/** Tool results whose image is left out: pictures of states that are long gone. */
function withOlderScreenshots(messages: readonly Said[]): ReadonlySet<Said> {
  const withImage = messages.filter(
    (message) =>
      message.role === "tool" &&
      typeof message.content !== "string" &&
      message.content.some((part) => part.type === "image_url"),
  )
  return new Set(withImage.slice(0, -SCREENSHOTS_KEPT))
}

/** User and assistant in turns, a user first. Of joined assistant messages only the first may think. */
function joinTurns(turns: readonly Turn[]): readonly Turn[] {
  const joined: Turn[] = turns[0]?.role === "assistant" ? [added("user", EMPTY_MESSAGE)] : []
  for (const turn of turns) {
    const last = joined.at(-1)
    if (last?.role !== turn.role) {
      joined.push(turn)
    } else if (turn.role === "assistant") {
      const rest = turn.blocks.filter(({ block }) => block.kind !== "thinking")
      joined[joined.length - 1] = { ...last, blocks: [...last.blocks, ...rest] }
    } else {
      joined[joined.length - 1] = { ...last, blocks: resultsFirst([...last.blocks, ...turn.blocks]) }
    }
  }
  return joined
}

/** The server wants the results directly after the calls; what was said besides follows them. */
function resultsFirst(blocks: readonly Placed[]): readonly Placed[] {
  const isResult = ({ block }: Placed): boolean => block.kind === "tool_result"
  return [...blocks.filter(isResult), ...blocks.filter((placed) => !isResult(placed))]
}

/** Every call has its result in the next turn, every result its call in the turn before; the rest is taken out. */
function withPairs(turns: readonly Turn[]): readonly Turn[] {
  return turns.map((turn, index) => {
    if (turn.role === "assistant") {
      const answered = idsIn(turns[index + 1], "tool_result")
      const blocks = turn.blocks.filter(({ block }) => block.kind !== "tool_use" || answered.has(block.id))
      return blocks.length === turn.blocks.length ? turn : { ...turn, blocks, gap: "(tool call removed)" }
    }
    const asked = idsIn(turns[index - 1], "tool_use")
    const blocks = turn.blocks.filter(({ block }) => block.kind !== "tool_result" || asked.has(block.id))
    return blocks.length === turn.blocks.length ? turn : { ...turn, blocks, gap: "(tool result removed)" }
  })
}

function idsIn(turn: Turn | undefined, kind: "tool_use" | "tool_result"): ReadonlySet<string> {
  return new Set((turn?.blocks ?? []).flatMap(({ block }) => (block.kind === kind ? [block.id] : [])))
}

function withThinking(turns: readonly Turn[], policy: ThinkingPolicy): readonly Turn[] {
  const running = policy === "latest-signed" ? startOfLatestTurn(turns) : turns.length
  return turns.map((turn, index) => {
    if (!turn.blocks.some(({ block }) => block.kind === "thinking")) return turn
    const blocks = turn.blocks.flatMap((placed): readonly Placed[] => {
      const { block } = placed
      if (block.kind !== "thinking") return [placed]
      if (policy === "unsigned") return block.signed ? [] : [placed]
      if (index < running) return []
      // A signature covers the turn as it was made; without one of its calls only the words are left.
      if (block.signed && turn.gap !== "(tool call removed)") return [placed]
      return block.text === "" ? [] : [{ block: textBlock(block.text), from: placed.from }]
    })
    return blocks.length === turn.blocks.length ? { ...turn, blocks } : { gap: "(thinking elided)", ...turn, blocks }
  })
}

/**
 * The latest turn of the model reaches back over all its calls to the last time a person spoke: inside it the server wants the
 * thinking back, and keeping all of it leaves the cached prefix of a long tool loop alone.
 */
function startOfLatestTurn(turns: readonly Turn[]): number {
  const latest = turns.findLastIndex(({ role }) => role === "assistant")
  const person = turns.findLastIndex(
    ({ role, blocks }, index) =>
      index < latest && role === "user" && !blocks.some(({ block }) => block.kind === "tool_result"),
  )
  return latest === -1 ? turns.length : person + 1
}

function withoutGaps(turn: Turn): Turn {
  return turn.blocks.length > 0 ? turn : added(turn.role, turn.gap ?? EMPTY_MESSAGE)
}

function added(role: Turn["role"], text: string): Turn {
  return { role, blocks: [{ block: textBlock(text), from: -1 }] }
}

/** The last block of each of the newest messages that may carry a marker; thinking never does. */
function markedBlocks(
  messages: readonly Said[],
  turns: readonly Turn[],
  { layout, markers }: HistoryOptions["cache"],
): ReadonlySet<Placed> {
  if (layout === "none" || markers === 0) return new Set()
  const first = Math.max(0, messages.length - markers)
  const last = new Map<number, Placed>()
  for (const placed of turns.flatMap(({ blocks }) => blocks)) {
    if (placed.from < first || placed.block.kind === "thinking") continue
    if (layout === "envelope" && messages[placed.from]?.role === "tool") continue
    last.set(placed.from, placed)
  }
  return new Set(last.values())
}

/** The marker comes last in its block, so a block that loses it keeps all its other bytes. */
function turnJson(turn: Turn, markerOf: (placed: Placed) => string): string {
  const blocks = turn.blocks.map((placed) => {
    const marker = markerOf(placed)
    return marker === "" ? placed.block.json : `${placed.block.json.slice(0, -1)},"cache_control":${marker}}`
  })
  return `{"role":"${turn.role}","content":[${blocks.join(",")}]}`
}
