import type { ToolDefinition } from "../protocol/tool.ts"
import type { ToolEntry } from "./tool.ts"
import { CORE_TOOLS } from "./toolset-table.ts"

/** The tools through which a model reaches those that were not declared to it. */
export const BRIDGE_TOOLSET = "tool_search"
export const BRIDGES: readonly string[] = ["tool_search", "tool_describe", "tool_call"]

export interface OfferOptions {
  /** `lean` declares a small core only. */
  readonly style: "full" | "lean"
  /** `tools.tool_search.enabled`: false declares everything, whatever the style. */
  readonly enabled: boolean | "auto"
  /** Share of the window, in percent, from which tools outside the core list are deferred. */
  readonly thresholdPct: number
  /** The window in tokens; absent or 0 where it is not known. */
  readonly contextLength?: number
  /** Bytes of the system prompt as JSON text. */
  readonly promptBytes: number
}

export interface OfferedTools {
  /** What the model is told at the start, sorted by name; with the bridges when something is deferred. */
  readonly declared: readonly ToolDefinition[]
  /** What it can look up and call through them. */
  readonly deferred: readonly ToolDefinition[]
}

/**
 * Divides the tools of a session. Every tool stays reachable: what is not declared is found and called through the bridges, and
 * a list without bridges is declared as it is. The same tools and options always give the same bytes (law 3).
 */
export function offerTools(definitions: readonly ToolDefinition[], options: OfferOptions): OfferedTools {
  const bridges = definitions.filter(({ name }) => BRIDGES.includes(name))
  const tools = definitions.filter(({ name }) => !BRIDGES.includes(name))
  const everything: OfferedTools = { declared: tools, deferred: [] }
  if (options.enabled === false || bridges.length < BRIDGES.length) return everything
  const hidden = options.style === "lean" ? outsideLeanCore(tools) : hiddenInFull(tools, bridges, options)
  if (hidden.size === 0) return everything
  const divided = divide(tools, bridges, hidden)
  return schemaBytes(divided.declared) < schemaBytes(tools) ? divided : everything
}

/** The same division again, by the names that were declared: for a session that goes on. */
export function offerAgain(definitions: readonly ToolDefinition[], declared: readonly string[]): OfferedTools {
  const bridges = definitions.filter(({ name }) => BRIDGES.includes(name))
  const tools = definitions.filter(({ name }) => !BRIDGES.includes(name))
  const hidden = new Set(tools.filter(({ name }) => !declared.includes(name)))
  return hidden.size === 0 || !BRIDGES.every((name) => declared.includes(name))
    ? { declared: tools.filter((tool) => !hidden.has(tool)), deferred: [] }
    : divide(tools, bridges, hidden)
}

/** The bridge through which other tools are called; a tool of somebody else with that name is none. */
export function isCallBridge({ name, toolset }: Pick<ToolEntry, "name" | "toolset">): boolean {
  return name === "tool_call" && toolset === BRIDGE_TOOLSET
}

/** The call inside a `tool_call`, with its arguments as JSON text; undefined when it names no tool. */
export function bridgedCall(
  args: Readonly<Record<string, unknown>>,
): { readonly name: string; readonly arguments: string } | undefined {
  // Weaker models write the arguments of the tool beside its name.
  const { name, arguments: inner, ...beside } = args
  if (typeof name !== "string" || name.trim() === "") return undefined
  if (typeof inner === "string") return { name: name.trim(), arguments: inner }
  return { name: name.trim(), arguments: JSON.stringify(inner ?? beside) }
}

/** What the default first request may have as a whole: prompt, tools and a short message. */
const FIRST_REQUEST_BYTES = 16_000

/** Model name, parameters and a short message. */
const REST_OF_REQUEST_BYTES = 600

/** A long prompt is the person's own rules and memory; it does not take the everyday tools away. */
const LEAST_SCHEMA_BYTES = 9000

const UNKNOWN_WINDOW_THRESHOLD_TOKENS = 20_000
const CHARS_PER_TOKEN = 4

/** A lean session writes with the first of these that it has. */
const LEAN_CORE = ["terminal", "read_file", "search_files"]
const LEAN_WRITERS = ["write_file", "patch"]

function outsideLeanCore(tools: readonly ToolDefinition[]): ReadonlySet<ToolDefinition> {
  const writer = LEAN_WRITERS.find((name) => tools.some((tool) => tool.name === name))
  return new Set(tools.filter(({ name }) => !LEAN_CORE.includes(name) && name !== writer))
}

function hiddenInFull(
  tools: readonly ToolDefinition[],
  bridges: readonly ToolDefinition[],
  options: OfferOptions,
): ReadonlySet<ToolDefinition> {
  const outsideCore = tools.filter(({ name }) => !CORE_TOOLS.includes(name))
  const hidden = new Set(options.enabled === true || fillsWindow(outsideCore, options) ? outsideCore : [])
  const room = Math.max(LEAST_SCHEMA_BYTES, FIRST_REQUEST_BYTES - REST_OF_REQUEST_BYTES - options.promptBytes)
  let declaredBytes = schemaBytes(tools.filter((tool) => !hidden.has(tool)))
  const bridgeBytes = (): number => {
    const deferred = tools.filter((tool) => hidden.has(tool))
    return deferred.length === 0 ? 0 : schemaBytes(divide(deferred, bridges, hidden).declared)
  }
  for (const tool of leastNeededFirst(tools)) {
    if (declaredBytes + bridgeBytes() <= room) break
    if (hidden.has(tool)) continue
    hidden.add(tool)
    declaredBytes -= schemaBytes([tool])
  }
  return hidden
}

function fillsWindow(
  deferrable: readonly ToolDefinition[],
  { thresholdPct, contextLength = 0 }: OfferOptions,
): boolean {
  if (deferrable.length === 0) return false
  const chars = deferrable.reduce((sum, tool) => sum + declaration(tool).length, 0)
  const threshold = contextLength > 0 ? (contextLength * thresholdPct) / 100 : UNKNOWN_WINDOW_THRESHOLD_TOKENS
  return chars / CHARS_PER_TOKEN >= threshold
}

/**
 * The tools that work is mostly done with, most needed first. A request that is too long loses the last of these first, and
 * before them, largest first, every tool that is not in this table.
 */
const MOST_NEEDED: readonly string[] = [
  "terminal",
  "read_file",
  "patch",
  "write_file",
  "search_files",
  "process",
  "todo",
  "memory",
  "clarify",
  "session_search",
  "web_search",
  "web_extract",
  "skill_view",
  "delegate_task",
  "execute_code",
  "skills_list",
  "learnings",
  "skill_manage",
  "browser_navigate",
  "browser_snapshot",
  "browser_click",
  "browser_type",
  "vision_analyze",
  "checkpoint",
  "cronjob",
  "send_message",
]

function leastNeededFirst(tools: readonly ToolDefinition[]): readonly ToolDefinition[] {
  return tools
    .map((tool) => {
      const place = MOST_NEEDED.indexOf(tool.name)
      return { tool, place: place === -1 ? MOST_NEEDED.length : place, bytes: schemaBytes([tool]) }
    })
    .toSorted((a, b) => b.place - a.place || b.bytes - a.bytes || (a.tool.name < b.tool.name ? -1 : 1))
    .map(({ tool }) => tool)
}

function divide(
  tools: readonly ToolDefinition[],
  bridges: readonly ToolDefinition[],
  hidden: ReadonlySet<ToolDefinition>,
): OfferedTools {
  const deferred = tools.filter((tool) => hidden.has(tool))
  const declared = [...tools.filter((tool) => !hidden.has(tool)), ...bridges.map((bridge) => naming(bridge, deferred))]
  return { declared: declared.toSorted((a, b) => (a.name < b.name ? -1 : 1)), deferred }
}

const MAX_NAMED_CHARS = 600

/** A model looks for what it knows to exist, so the search says what there is. */
function naming(bridge: ToolDefinition, deferred: readonly ToolDefinition[]): ToolDefinition {
  if (bridge.name !== "tool_search") return bridge
  let room = MAX_NAMED_CHARS
  const named: string[] = []
  for (const { name } of deferred) {
    room -= name.length + 2
    if (room < 0) break
    named.push(name)
  }
  const left = deferred.length - named.length
  const list = `${named.join(", ")}${left === 0 ? "" : ` and ${left} more`}`
  return { ...bridge, description: `${bridge.description} There are: ${list}.` }
}

function schemaBytes(tools: readonly ToolDefinition[]): number {
  return tools.reduce((sum, tool) => sum + Buffer.byteLength(declaration(tool)) + 1, 0)
}

/** As the most common wire has it. */
function declaration({ name, description, parameters }: ToolDefinition): string {
  return JSON.stringify({ type: "function", function: { name, description, parameters } })
}
