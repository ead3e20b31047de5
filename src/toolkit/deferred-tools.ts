import type { ToolDefinition } from "../protocol/tool.ts"
import type { ToolMarks } from "./tool.ts"

/** What the model sees of the tools of a session, and what they declare about themselves. */
export interface OfferableTools {
  readonly definitions: readonly ToolDefinition[]
  /** Marks by tool name. */
  readonly entries: ReadonlyMap<string, DeclarationMarks>
  /**
   * Where further tools come from that are only reached through the bridges, for example MCP servers. Some may not be connected yet. The
   * description of the search names them.
   */
  readonly sources?: readonly string[]
}

type DeclarationMarks = Pick<ToolMarks, "bridge" | "declarationRank" | "lean" | "deferredSource">

export interface OfferOptions {
  /** `lean` declares only the tools with that mark. */
  readonly style: "full" | "lean"
  /** `tools.tool_search.enabled`: false declares everything in both styles. */
  readonly enabled: boolean | "auto"
  /** Percentage of the context window above which tools outside the core list are deferred. */
  readonly thresholdPct: number
  /** The context window in tokens; absent or 0 where it is unknown. */
  readonly contextLength?: number
  /** Size of the system prompt as JSON text. */
  readonly promptBytes: number
}

export interface OfferedTools {
  /** The tools in the first request, sorted by name; with the bridges when something is deferred. */
  readonly declared: readonly ToolDefinition[]
  /** The tools that the model can find and call through the bridges. */
  readonly deferred: readonly ToolDefinition[]
}

/**
 * Divides the tools of a session into declared and deferred ones. Every tool stays reachable: a deferred tool through the
 * bridges, and a list without bridges is declared completely. The same tools and options always yield the same bytes.
 */
export function offerTools(offerable: OfferableTools, options: OfferOptions): OfferedTools {
  const { bridges, tools, sources } = separateBridges(offerable)
  const everything: OfferedTools = { declared: tools.map(({ definition }) => definition), deferred: [] }
  if (options.enabled === false || bridges.length < BRIDGE_COUNT) return everything
  const parts = { tools, bridges, sources }
  const hidden =
    options.style === "lean" ? new Set(tools.filter(({ lean }) => lean !== true)) : hiddenInFull(parts, options)
  const divided = divide(parts, hidden)
  // The tools of a source may still arrive, and would not be reachable without the bridges.
  if (sources.length > 0) return divided
  if (hidden.size === 0) return everything
  return schemaBytes(divided.declared) < schemaBytes(everything.declared) ? divided : everything
}

/** Search, describe and call. Without all of them a deferred tool could not be reached. */
const BRIDGE_COUNT = 3

interface MarkedTool extends DeclarationMarks {
  readonly definition: ToolDefinition
}

interface SeparatedTools {
  readonly bridges: readonly MarkedTool[]
  readonly tools: readonly MarkedTool[]
  readonly sources: readonly string[]
}

function separateBridges({ definitions, entries, sources = [] }: OfferableTools): SeparatedTools {
  const marked = definitions.map((definition) => ({ ...entries.get(definition.name), definition }))
  return {
    bridges: marked.filter(({ bridge }) => bridge !== undefined),
    tools: marked.filter(({ bridge }) => bridge === undefined),
    sources,
  }
}

/** Repeats the division of a resumed session, from the names it declared when it began. */
export function offerSameTools(offerable: OfferableTools, declared: readonly string[]): OfferedTools {
  const parts = separateBridges(offerable)
  const { bridges, tools, sources } = parts
  const wasDeclared = ({ definition }: MarkedTool): boolean => declared.includes(definition.name)
  const hidden = new Set(tools.filter((tool) => !wasDeclared(tool)))
  const isComplete = hidden.size === 0 && sources.length === 0
  return isComplete || bridges.length < BRIDGE_COUNT || !bridges.every(wasDeclared)
    ? { declared: tools.filter(wasDeclared).map(({ definition }) => definition), deferred: [] }
    : divide(parts, hidden)
}

/** The call inside a call of the `call` bridge, with its arguments as JSON text; undefined when it has no tool name. */
export function bridgedCall(
  args: Readonly<Record<string, unknown>>,
): { readonly name: string; readonly arguments: string } | undefined {
  // Weaker models put the tool's arguments next to its name instead of in `arguments`.
  const { name, arguments: inner, ...otherFields } = args
  if (typeof name !== "string" || name.trim() === "") return undefined
  if (typeof inner === "string") return { name: name.trim(), arguments: inner }
  return { name: name.trim(), arguments: JSON.stringify(inner ?? otherFields) }
}

/** Size limit of the first request: prompt, tools and a short message. */
const FIRST_REQUEST_BYTES = 16_000

/** Model name, parameters and a short message. */
const OTHER_REQUEST_BYTES = 600

/** A prompt that is long because of the user's own rules and memory must not push out the everyday tools. */
const MIN_SCHEMA_BYTES = 9000

const UNKNOWN_WINDOW_THRESHOLD_TOKENS = 20_000
const CHARS_PER_TOKEN = 4

function hiddenInFull(parts: SeparatedTools, options: OfferOptions): ReadonlySet<MarkedTool> {
  const { bridges, sources } = parts
  const ofSources = parts.tools.filter(({ deferredSource }) => deferredSource !== undefined)
  const tools = parts.tools.filter(({ deferredSource }) => deferredSource === undefined)
  const unranked = tools.filter(({ declarationRank }) => declarationRank === undefined)
  const hidden = new Set(options.enabled === true || fillsWindow(unranked, options) ? unranked : [])
  const room = Math.max(MIN_SCHEMA_BYTES, FIRST_REQUEST_BYTES - OTHER_REQUEST_BYTES - options.promptBytes)
  let declaredBytes = schemaBytes(tools.filter((tool) => !hidden.has(tool)).map(({ definition }) => definition))
  const bridgeBytes = (): number => {
    const deferred = tools.filter((tool) => hidden.has(tool))
    if (deferred.length === 0 && sources.length === 0) return 0
    return schemaBytes(divide({ tools: deferred, bridges, sources }, hidden).declared)
  }
  for (const tool of leastNeededFirst(tools)) {
    if (declaredBytes + bridgeBytes() <= room) break
    if (hidden.has(tool)) continue
    hidden.add(tool)
    declaredBytes -= schemaBytes([tool.definition])
  }
  for (const tool of ofSources) hidden.add(tool)
  return hidden
}

function fillsWindow(deferrable: readonly MarkedTool[], { thresholdPct, contextLength = 0 }: OfferOptions): boolean {
  if (deferrable.length === 0) return false
  const chars = deferrable.reduce((sum, { definition }) => sum + declaration(definition).length, 0)
  const threshold = contextLength > 0 ? (contextLength * thresholdPct) / 100 : UNKNOWN_WINDOW_THRESHOLD_TOKENS
  return chars / CHARS_PER_TOKEN >= threshold
}

/** Tools without a rank first, the largest before the smaller ones, then by rank from the end. */
function leastNeededFirst(tools: readonly MarkedTool[]): readonly MarkedTool[] {
  return tools
    .map((tool) => ({ tool, rank: tool.declarationRank ?? Infinity, bytes: schemaBytes([tool.definition]) }))
    .toSorted((a, b) =>
      a.rank === b.rank
        ? b.bytes - a.bytes || (a.tool.definition.name < b.tool.definition.name ? -1 : 1)
        : b.rank - a.rank,
    )
    .map(({ tool }) => tool)
}

function divide({ tools, bridges, sources }: SeparatedTools, hidden: ReadonlySet<MarkedTool>): OfferedTools {
  const deferred = tools.filter((tool) => hidden.has(tool))
  const named = deferred.filter(({ deferredSource }) => deferredSource === undefined)
  const names = named.map(({ definition }) => definition.name)
  const declared = [
    ...tools.filter((tool) => !hidden.has(tool)).map(({ definition }) => definition),
    ...bridges.map((bridge) => withDeferredNames(bridge, names, sources)),
  ]
  return {
    declared: declared.toSorted((a, b) => (a.name < b.name ? -1 : 1)),
    deferred: deferred.map(({ definition }) => definition),
  }
}

const MAX_NAMED_CHARS = 600

/**
 * A model searches only for what it knows to exist, so the description of the search lists the deferred tools. Of a source it names only
 * the source: its tools may change, and these bytes must not.
 */
function withDeferredNames(
  { bridge, definition }: MarkedTool,
  names: readonly string[],
  sources: readonly string[],
): ToolDefinition {
  if (bridge !== "search") return definition
  const lists = [
    ...(names.length === 0 ? [] : [`There are: ${shortList(names)}.`]),
    ...(sources.length === 0 ? [] : [`More tools come from the MCP servers ${shortList(sources)}.`]),
  ]
  return { ...definition, description: [definition.description, ...lists].join(" ") }
}

function shortList(names: readonly string[]): string {
  let room = MAX_NAMED_CHARS
  const named: string[] = []
  for (const name of names) {
    room -= name.length + 2
    if (room < 0) break
    named.push(name)
  }
  const left = names.length - named.length
  return `${named.join(", ")}${left === 0 ? "" : ` and ${left} more`}`
}

function schemaBytes(tools: readonly ToolDefinition[]): number {
  return tools.reduce((sum, tool) => sum + Buffer.byteLength(declaration(tool)) + 1, 0)
}

/** The tool as JSON text in the chat completions format. */
function declaration({ name, description, parameters }: ToolDefinition): string {
  return JSON.stringify({ type: "function", function: { name, description, parameters } })
}
