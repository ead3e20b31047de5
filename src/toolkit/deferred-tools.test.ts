import { describe, expect, test } from "vitest"

import { fc } from "../../test/support/property.ts"
import type { ToolDefinition } from "../protocol/tool.ts"
import { bridgedCall, offerTools as offerMarked } from "./deferred-tools.ts"
import type { OfferedTools, OfferOptions } from "./deferred-tools.ts"
import type { ToolMarks } from "./tool.ts"

const RANKED = [
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
  "learnings",
  "checkpoint",
]
const LEAN = ["terminal", "read_file", "search_files", "write_file"]
const BRIDGES = ["tool_search", "tool_describe", "tool_call"]
const MARKS = new Map<string, Pick<ToolMarks, "bridge" | "declarationRank" | "lean">>([
  ...RANKED.map((name, index) => [name, { declarationRank: index + 1, lean: LEAN.includes(name) }] as const),
  ["tool_search", { bridge: "search" }],
  ["tool_describe", { bridge: "describe" }],
  ["tool_call", { bridge: "call" }],
])

function offerTools(definitions: readonly ToolDefinition[], options: OfferOptions): OfferedTools {
  return offerMarked({ definitions, entries: MARKS }, options)
}

const BRIDGE_TOOLS = BRIDGES.map((name) => tool(name, 300))
const OPTIONS: OfferOptions = {
  style: "full",
  enabled: "auto",
  thresholdPct: 10,
  contextLength: 100_000,
  promptBytes: 4000,
}

describe("a session in the full style", () => {
  test("declares everything, without bridges, while there is room", () => {
    const tools = [tool("read_file", 1000), tool("foreign", 1000)]
    expect(offerTools([...tools, ...BRIDGE_TOOLS], OPTIONS)).toEqual({ declared: tools, deferred: [] })
  })

  test.each<{ name: string; foreignBytes: number; options: Partial<OfferOptions>; deferred: readonly string[] }>([
    { name: "below the share of the window", foreignBytes: 3999, options: { contextLength: 10_000 }, deferred: [] },
    { name: "at the share", foreignBytes: 4000, options: { contextLength: 10_000 }, deferred: ["foreign"] },
    { name: "a larger share", foreignBytes: 4000, options: { contextLength: 10_000, thresholdPct: 11 }, deferred: [] },
    { name: "a share of nothing", foreignBytes: 2000, options: { thresholdPct: 0 }, deferred: ["foreign"] },
    { name: "on, however small", foreignBytes: 2000, options: { enabled: true }, deferred: ["foreign"] },
    { name: "off, however large", foreignBytes: 90_000, options: { enabled: false }, deferred: [] },
    { name: "an unknown window", foreignBytes: 8000, options: { contextLength: 0 }, deferred: [] },
  ])("defers tools outside the core list: $name", ({ foreignBytes, options, deferred }) => {
    const tools = [tool("foreign", foreignBytes), tool("read_file", 3000), ...BRIDGE_TOOLS]
    expect(namesOf(offerTools(tools, { ...OPTIONS, ...options }).deferred)).toEqual(deferred)
  })

  test("an unknown window counts 20,000 tokens of tools as many", () => {
    const tools = [tool("foreign", 80_000), tool("read_file", 3000), ...BRIDGE_TOOLS]
    const { contextLength: _known, ...unknown } = OPTIONS
    expect(namesOf(offerTools(tools, unknown).deferred)).toEqual(["foreign"])
  })

  test.each<{ promptBytes: number; deferred: readonly string[] }>([
    { promptBytes: 0, deferred: ["another"] },
    { promptBytes: 200, deferred: ["another", "foreign"] },
    { promptBytes: 1000, deferred: ["another", "checkpoint", "foreign"] },
    { promptBytes: 3000, deferred: ["another", "checkpoint", "foreign", "learnings"] },
    { promptBytes: 5000, deferred: ["another", "checkpoint", "clarify", "foreign", "learnings"] },
  ])(
    "with a prompt of $promptBytes bytes the least needed tools are deferred, so that the first request stays short",
    ({ promptBytes, deferred }) => {
      const needed = ["checkpoint", "clarify", "learnings", "memory", "read_file", "terminal", "todo"]
      const tools = [tool("another", 2500), tool("foreign", 400), ...needed.map((name) => tool(name, 2000))]
      const offered = offerTools([...tools, ...BRIDGE_TOOLS].toSorted(byName), { ...OPTIONS, promptBytes })
      expect(namesOf(offered.deferred)).toEqual(deferred)
    },
  )

  test("a long prompt does not push out the everyday tools", () => {
    const tools = [tool("read_file", 2900), tool("terminal", 2900), tool("write_file", 2900)]
    const offered = offerTools([...tools, ...BRIDGE_TOOLS], { ...OPTIONS, promptBytes: 60_000 })
    expect(offered).toEqual({ declared: tools, deferred: [] })
  })

  test("a list without all bridges is declared completely, so that every tool stays reachable", () => {
    const tools = [tool("foreign", 90_000), tool("read_file", 3000)]
    const offered = offerTools([...tools, ...BRIDGE_TOOLS.slice(1)], OPTIONS)
    expect(offered).toEqual({ declared: tools, deferred: [] })
  })

  test("nothing is deferred where the bridges would need more bytes than they save", () => {
    const tools = [tool("foreign", 200), tool("read_file", 200)]
    expect(offerTools([...tools, ...BRIDGE_TOOLS], { ...OPTIONS, enabled: true }).deferred).toEqual([])
  })
})

describe("a lean session", () => {
  const lean: OfferOptions = { ...OPTIONS, style: "lean" }

  test.each<{ name: string; tools: readonly string[]; declared: readonly string[] }>([
    {
      name: "declares the tools for files and commands",
      tools: ["memory", "patch", "read_file", "search_files", "terminal", "todo", "write_file"],
      declared: ["read_file", "search_files", "terminal", "tool_call", "tool_describe", "tool_search", "write_file"],
    },
    {
      name: "declares only the bridges when it has none of these",
      tools: ["memory", "todo", "web_search"],
      declared: ["tool_call", "tool_describe", "tool_search"],
    },
  ])("$name", ({ tools, declared }) => {
    const offered = offerTools([...tools.map((name) => tool(name, 900)), ...BRIDGE_TOOLS], lean)
    expect(namesOf(offered.declared)).toEqual(declared)
    expect(namesOf(offered.deferred)).toEqual(tools.filter((name) => !declared.includes(name)))
  })

  test("declares everything when tool search is off", () => {
    const tools = [tool("memory", 900), tool("read_file", 900)]
    const offered = offerTools([...tools, ...BRIDGE_TOOLS], { ...lean, enabled: false })
    expect(offered).toEqual({ declared: tools, deferred: [] })
  })

  test("lists the deferred tools in the description of the search, and counts those that do not fit", () => {
    const described = (count: number): string | undefined => {
      const tools = Array.from({ length: count }, (_, index) => tool(`server_tool_${index}`, 400))
      return offerTools([...tools, ...BRIDGE_TOOLS], lean).declared.find(({ name }) => name === "tool_search")
        ?.description
    }
    expect(described(4)).toMatch(/ There are: server_tool_0, server_tool_1, server_tool_2, server_tool_3\.$/u)
    expect(described(200)).toMatch(/, server_tool_37 and 162 more\.$/u)
  })
})

test("every tool is declared or deferred, once and in order, and equal options yield equal bytes", () => {
  const name = fc.oneof(
    fc.constantFrom("terminal", "read_file", "patch", "todo", "memory", "checkpoint"),
    fc.stringMatching(/^[a-z]{3,12}$/u),
  )
  const tools = fc
    .uniqueArray(fc.tuple(name, fc.integer({ min: 150, max: 3000 })), { selector: ([given]) => given, maxLength: 60 })
    .map((list) => list.map(([given, bytes]) => tool(given, bytes)).toSorted(byName))
  const options = fc.record({
    style: fc.constantFrom<OfferOptions["style"]>("full", "lean"),
    enabled: fc.constantFrom<OfferOptions["enabled"]>(true, false, "auto"),
    thresholdPct: fc.integer({ min: 0, max: 100 }),
    contextLength: fc.integer({ min: 0, max: 200_000 }),
    promptBytes: fc.integer({ min: 0, max: 40_000 }),
  })
  fc.assert(
    fc.property(tools, options, (given, how) => {
      const all = [...given, ...BRIDGE_TOOLS].toSorted(byName)
      const offered = offerTools(all, how)
      const declared = offered.declared.filter((each) => !BRIDGES.includes(each.name))
      expect([...declared, ...offered.deferred].toSorted(byName)).toEqual(given)
      expect(offered.declared).toEqual(offered.declared.toSorted(byName))
      expect(offered.declared.length - declared.length).toBe(offered.deferred.length === 0 ? 0 : BRIDGES.length)
      expect(bytesOf(offered.declared)).toBeLessThanOrEqual(bytesOf(given))
      const least = Math.max(9000, 15_400 - how.promptBytes)
      if (how.style === "full" && how.enabled !== false) expect(bytesOf(offered.declared)).toBeLessThanOrEqual(least)
      expect(JSON.stringify(offerTools(all, how))).toBe(JSON.stringify(offered))
    }),
  )
})

test.each<[Readonly<Record<string, unknown>>, ReturnType<typeof bridgedCall>]>([
  [
    { name: "todo", arguments: { merge: true } },
    { name: "todo", arguments: '{"merge":true}' },
  ],
  [
    { name: " todo ", arguments: '{"merge":true' },
    { name: "todo", arguments: '{"merge":true' },
  ],
  [{ name: "todo" }, { name: "todo", arguments: "{}" }],
  [
    { name: "todo", arguments: null },
    { name: "todo", arguments: "{}" },
  ],
  [
    { name: "todo", merge: true },
    { name: "todo", arguments: '{"merge":true}' },
  ],
  [
    { name: "todo", arguments: [1] },
    { name: "todo", arguments: "[1]" },
  ],
  [{ name: "" }, undefined],
  [{ name: 7 }, undefined],
  [{ arguments: {} }, undefined],
])("the call inside %j", (args, expected) => {
  expect(bridgedCall(args)).toEqual(expected)
})

/** A tool whose declaration has that many bytes. */
function tool(name: string, bytes: number): ToolDefinition {
  const bare = { name, description: "", parameters: { type: "object", properties: {} } }
  return { ...bare, description: "x".repeat(Math.max(0, bytes - bytesOf([bare]) + 1)) }
}

function bytesOf(tools: OfferedTools["declared"]): number {
  return tools.reduce((sum, each) => sum + JSON.stringify({ type: "function", function: each }).length + 1, 0)
}

function namesOf(tools: readonly ToolDefinition[]): readonly string[] {
  return tools.map(({ name }) => name)
}

function byName(a: ToolDefinition, b: ToolDefinition): number {
  return a.name < b.name ? -1 : 1
}
