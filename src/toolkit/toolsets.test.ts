import { describe, expect, test } from "vitest"

import type { ToolEntry } from "./tool.ts"
import { CORE_TOOLS, OFF_BY_DEFAULT, STATIC_TOOLSETS } from "./toolset-table.ts"
import { resolveToolset, toolsetsOffByDefault, type ToolsetScope } from "./toolsets.ts"

const ALL_STATIC_TOOLS = new Set(Object.values(STATIC_TOOLSETS).flatMap(({ tools }) => tools))

/** Every tool that the table names, registered under no toolset of the table. */
const everything = scopeOf([...ALL_STATIC_TOOLS].map((name) => [name, "nowhere"]))

describe("the built-in toolsets", () => {
  test.each([
    ["web", "web_extract web_search"],
    ["search", "web_search"],
    ["terminal", "process read_terminal terminal"],
    ["file", "patch read_file search_files write_file"],
    ["skills", "skill_manage skill_view skills_list"],
    ["moa", "mixture_of_agents"],
    ["debugging", "patch process read_file search_files terminal web_extract web_search write_file"],
    ["safe", "image_generate vision_analyze web_extract web_search"],
    [
      "coding",
      "delegate_task execute_code patch process read_file read_terminal search_files terminal todo web_extract web_search write_file",
    ],
    ["hermes-webhook", "clarify vision_analyze web_extract web_search"],
  ])("%s", (name, tools) => {
    expect(resolveToolset(name, everything)).toEqual(tools.split(" "))
  })

  test("the browser has its twelve tools and the search", () => {
    const tools = resolveToolset("browser", everything) ?? []
    expect(tools.filter((name) => name.startsWith("browser_"))).toHaveLength(12)
    expect(tools).toContain("web_search")
  })

  test.each(["hermes-cli", "hermes-cron", "hermes-telegram", "hermes-sms"])("%s is the core list", (name) => {
    expect(resolveToolset(name, everything)).toEqual([...CORE_TOOLS].toSorted())
  })

  test("some bundles have more or less than the core list", () => {
    const beside = (name: string) => {
      const tools = resolveToolset(name, everything) ?? []
      return {
        more: tools.filter((tool) => !CORE_TOOLS.includes(tool)),
        less: CORE_TOOLS.filter((tool) => !tools.includes(tool)).toSorted(),
      }
    }
    expect(beside("hermes-discord")).toEqual({ more: ["discord", "discord_admin"], less: [] })
    expect(beside("hermes-gateway")).toEqual({ more: ["discord", "discord_admin"], less: [] })
    expect(beside("hermes-api-server")).toEqual({ more: [], less: ["clarify", "send_message", "text_to_speech"] })
    expect(beside("hermes-acp")).toEqual({
      more: [],
      less: [
        "clarify",
        "cronjob",
        "ha_call_service",
        "ha_get_state",
        "ha_list_entities",
        "ha_list_services",
        "image_generate",
        "send_message",
        "text_to_speech",
      ],
    })
  })

  test("every include of the table exists", () => {
    const includes = Object.values(STATIC_TOOLSETS).flatMap((toolset) => toolset.includes)
    expect(includes.filter((name) => !Object.hasOwn(STATIC_TOOLSETS, name))).toEqual([])
    expect(OFF_BY_DEFAULT.filter((name) => !Object.hasOwn(STATIC_TOOLSETS, name))).toEqual([])
  })

  test("tools that do not exist contribute nothing", () => {
    expect(resolveToolset("file", scopeOf([["read_file", "file"]]))).toEqual(["read_file"])
    expect(resolveToolset("web", scopeOf([]))).toEqual([])
  })
})

describe("what is added", () => {
  test("a registered tool belongs to the toolset it names", () => {
    const scope = scopeOf([
      ["spotify_play", "spotify"],
      ["weather", "weather-plugin"],
    ])
    expect(resolveToolset("spotify", scope)).toEqual(["spotify_play"])
    expect(resolveToolset("weather-plugin", scope)).toEqual(["weather"])
  })

  test("an alias means the toolset of the MCP server", () => {
    const scope = scopeOf([["mcp_s_find", "mcp-s"]], { aliases: new Map([["s", "mcp-s"]]) })
    expect(resolveToolset("s", scope)).toEqual(["mcp_s_find"])
  })

  test("an alias cannot hide a built-in toolset", () => {
    const scope = scopeOf(
      [
        ["mcp_web_x", "mcp-web"],
        ["web_search", "web"],
      ],
      { aliases: new Map([["web", "mcp-web"]]) },
    )
    expect(resolveToolset("web", scope)).toEqual(["web_search"])
  })

  test("own toolsets include others and cannot redefine a built-in name", () => {
    const custom = {
      mine: { description: "", tools: ["terminal"], includes: ["file"] },
      search: { description: "", tools: ["terminal"], includes: [] },
    }
    const scope = { ...everything, custom }
    expect(resolveToolset("mine", scope)).toEqual(["patch", "read_file", "search_files", "terminal", "write_file"])
    expect(resolveToolset("search", scope)).toEqual(["web_search"])
  })

  test("includes that form a circle end, and unknown ones add nothing", () => {
    const custom = {
      a: { description: "", tools: ["todo"], includes: ["b", "nothing"] },
      b: { description: "", tools: ["memory"], includes: ["a", "b"] },
    }
    expect(resolveToolset("a", { ...everything, custom })).toEqual(["memory", "todo"])
  })

  test("a platform of a plugin gets the core list and its own tools", () => {
    const scope = {
      ...scopeOf([
        ["read_file", "file"],
        ["irc_whois", "irc"],
        ["irc_kick", "hermes-irc"],
        ["discord", "discord"],
      ]),
      pluginPlatforms: new Set(["irc"]),
    }
    expect(resolveToolset("hermes-irc", scope)).toEqual(["irc_kick", "irc_whois", "read_file"])
    expect(resolveToolset("hermes-other", scope)).toBeUndefined()
  })
})

test.each(["all", "*"])("%s means every registered tool", (name) => {
  const scope = scopeOf([
    ["b", "x"],
    ["a", "y"],
  ])
  expect(resolveToolset(name, scope)).toEqual(["a", "b"])
})

test.each(["nothing", "", "toString", "hermes-"])("there is no toolset %j", (name) => {
  expect(resolveToolset(name, everything)).toBeUndefined()
})

test("toolsets that are off by default are disabled until they are named", () => {
  expect(toolsetsOffByDefault(["hermes-cli"])).toEqual(OFF_BY_DEFAULT)
  expect(toolsetsOffByDefault(["hermes-cli", "moa"])).toEqual(OFF_BY_DEFAULT.filter((name) => name !== "moa"))
  expect(toolsetsOffByDefault(["all"])).toEqual([])
})

function scopeOf(
  tools: readonly (readonly [name: string, toolset: string])[],
  options: { readonly aliases?: ReadonlyMap<string, string> } = {},
): ToolsetScope {
  const entries = tools.map(([name, toolset]): [string, ToolEntry] => [
    name,
    {
      name,
      toolset,
      description: "",
      parameters: {},
      source: { kind: "builtin" },
      load: () => Promise.reject(new Error("never loaded here")),
    },
  ])
  return { snapshot: { tools: new Map(entries), aliases: options.aliases ?? new Map() } }
}
