import { codePointLength } from "../../base/text.ts"
import type { FacetLayer } from "../facet.ts"
import { scanThreats } from "../../knowledge/threat-scan.ts"

/** Tells the model what belongs in memory. */
export const MEMORY_GUIDANCE =
  "Keep durable facts with the memory tool, compactly; best are those that spare the user a repeated correction. Nothing that is " +
  'stale in a week: no task progress, issue numbers, commits or counts. Write facts, not orders: "The user prefers tabs", not ' +
  '"Always use tabs". Past work is found with session_search.'

/** The two memory files as prompt layers; each gives up its oldest entries when the prompt is too long. */
export function memoryLayers(
  memory: { readonly memory: readonly string[]; readonly user: readonly string[] },
  limits: { readonly memory: number; readonly user: number },
): readonly FacetLayer[] {
  const notes = { target: "memory", entries: memory.memory, limitChars: limits.memory } as const
  const profile = { target: "user", entries: memory.user, limitChars: limits.user } as const
  return [layerOf("memory", notes), layerOf("user profile", profile)]
}

function layerOf(name: string, block: MemoryBlock): FacetLayer {
  const shorten = (maxChars: number): string => condensedMemoryBlock(block, maxChars)
  const layer = { tier: "volatile", name, text: memoryBlock(block), shorten } as const
  const blocked = block.entries.filter((entry) => scanThreats(entry, "strict").length > 0).length
  return blocked === 0 ? layer : { ...layer, warning: blockedWarning(block.target, blocked) }
}

function blockedWarning(target: MemoryBlock["target"], count: number): string {
  const [entries, verb, them] = count === 1 ? ["1 entry", "was", "it"] : [`${count} entries`, "were", "them"]
  return `${entries} of ${FILES[target]} ${verb} left out of the prompt because of text that looks like prompt injection. \`hermes memory\` shows ${them}; edit the file to remove ${them}.`
}

export interface MemoryBlock {
  readonly target: "memory" | "user"
  readonly entries: readonly string[]
  readonly limitChars: number
}

/**
 * One of the two memory files as the model sees it for the whole session; empty without entries. An entry that looks like a
 * prompt injection is replaced by a line that says so; the file keeps it until it is removed.
 */
export function memoryBlock(block: MemoryBlock): string {
  return render(
    block,
    block.entries.map((entry) => shownEntry(entry, block.target)),
  )
}

/** The same within `maxChars`: the oldest entries are omitted first, and a line counts them. */
export function condensedMemoryBlock(block: MemoryBlock, maxChars: number): string {
  const shown = block.entries.map((entry) => shownEntry(entry, block.target))
  let room = maxChars - render(block, [omittedLine(shown.length)]).length
  let first = shown.length
  for (let length = shown[first - 1]?.length; length !== undefined; length = shown[first - 1]?.length) {
    room -= SEPARATOR.length + length
    if (room < 0) break
    first -= 1
  }
  if (first === 0) return render(block, shown)
  return first === shown.length
    ? `${TITLES[block.target]}: ${omittedLine(first)}`
    : render(block, [omittedLine(first), ...shown.slice(first)])
}

const RULE = "═".repeat(46)
const TITLES = { memory: "MEMORY (your personal notes)", user: "USER PROFILE (who the user is)" } as const
const FILES = { memory: "MEMORY.md", user: "USER.md" } as const
const SEPARATOR = "\n§\n"

function render({ target, entries, limitChars }: MemoryBlock, shown: readonly string[]): string {
  if (shown.length === 0) return ""
  const used = codePointLength(entries.join(SEPARATOR))
  const percent = limitChars <= 0 ? 100 : Math.min(100, Math.floor((100 * used) / limitChars))
  const usage = `[${percent}% — ${grouped(used)}/${grouped(limitChars)} chars]`
  return [RULE, `${TITLES[target]} ${usage}`, RULE, shown.join(SEPARATOR)].join("\n")
}

function shownEntry(entry: string, target: MemoryBlock["target"]): string {
  const threats = scanThreats(entry, "strict")
  if (threats.length === 0) return entry
  return `[BLOCKED: ${FILES[target]} entry contained threat pattern(s): ${threats.join(", ")}. Look at it with the memory tool (action read) and remove it.]`
}

function omittedLine(count: number): string {
  return `${count} ${count === 1 ? "entry" : "entries"} omitted, use memory read`
}

/** Not `Intl`: loading it costs 10 ms, and it follows the locale. */
function grouped(count: number): string {
  return String(count).replaceAll(/\B(?=(?:\d{3})+$)/gu, ",")
}
