import { describe, expect, test } from "vitest"

import type { ToolDefinition } from "../../protocol/tool.ts"
import { createToolSearch } from "./tool-ranking.ts"

const TOOLS = [
  tool("browser_click", "Click an element of the page that is open.", ["ref"]),
  tool("browser_navigate", "Open an address in the browser.", ["url"]),
  tool("cronjob", "Schedule work for later, once or again and again.", ["action", "schedule", "prompt"]),
  tool("ha_call_service", "Control a device of the smart home.", ["domain", "service", "entity_id"]),
  tool("image_generate", "Make a picture from words.", ["prompt", "aspect_ratio"]),
  tool("mcp_tracker_createIssue", "File a new ticket.", ["title", "body"]),
  tool("send_message", "Send a message to a chat.", ["target", "text"]),
  tool("web_search", "Search the web; returns titles, addresses and snippets.", ["query", "limit"]),
]

describe("a search", () => {
  test.each<[string, readonly string[]]>([
    ["browser_click", ["browser_click", "browser_navigate"]],
    ["click on pages", ["browser_click"]],
    ["create issue", ["mcp_tracker_createIssue"]],
    ["entity", ["ha_call_service"]],
    ["messages to a CHAT", ["send_message"]],
    ["prompt", ["image_generate", "cronjob"]],
    ["brows", ["browser_click", "browser_navigate"]],
    ["schedul generat", ["cronjob", "image_generate"]],
    ["zebra", []],
    ["?!", []],
  ])("for %j", (query, expected) => {
    const found = createToolSearch(TOOLS).search(query)
    expect(found.slice(0, Math.max(1, expected.length)).map(({ name }) => name)).toEqual(expected)
  })

  test("ranks by BM25: rare before frequent words, short before long texts, with diminishing repetition", () => {
    const documents = [
      tool("a", "common rare", []),
      tool("b", "common common", []),
      tool("c", "common and many other words beside it", []),
      tool("d", "nothing", []),
    ]
    expect(
      createToolSearch(documents)
        .search("common rare")
        .map(({ name }) => name),
    ).toEqual(["a", "b", "c"])
  })

  test.each<[number | undefined, number]>([
    [undefined, 3],
    [2, 2],
    [100, 5],
    [0, 1],
    [-3, 1],
  ])("with a limit of %s returns %i", (limit, expected) => {
    const many = Array.from({ length: 9 }, (_, index) => tool(`page_${index}`, "Read a page.", []))
    const port = createToolSearch(many, { defaultLimit: 3, maxLimit: 5 })
    expect(port.search("page", limit)).toEqual(many.slice(0, expected))
  })
})

test("tools are found by their exact name, and the names are sorted", () => {
  const port = createToolSearch(TOOLS.toReversed())
  expect(port.find("cronjob")).toBe(TOOLS[2])
  expect(port.find("Cronjob")).toBeUndefined()
  expect(port.names()).toEqual(TOOLS.map(({ name }) => name))
})

test("without deferred tools nothing is found", () => {
  const port = createToolSearch([])
  expect([port.names(), port.search("anything"), port.find("x")]).toEqual([[], [], undefined])
})

function tool(name: string, description: string, parameters: readonly string[]): ToolDefinition {
  const properties = Object.fromEntries(parameters.map((parameter) => [parameter, { type: "string" }]))
  return { name, description, parameters: { type: "object", properties } }
}
