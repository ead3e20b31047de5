import { expect, test } from "vitest"

import { TOOL_MANIFEST } from "../../src/tools/manifest.generated.ts"
import { callsTool, says } from "../support/model-server/turn.ts"
import { assembleApp, runToEnd } from "./assembled-app.ts"
import type { AssembledApp } from "./assembled-app.ts"

const LEAN = { config: "agent:\n  prompt_style: lean\n" }
const SEARCH_OFF = "tools:\n  tool_search:\n    enabled: false\n"
const BRIDGES = ["tool_call", "tool_describe", "tool_search"]

test.each([
  { style: "default", config: "", atMost: 16_000 },
  { style: "lean", ...LEAN, atMost: 6000 },
])("the first request of a $style session is short, and every tool is in it or named by the search", async (how) => {
  await using house = await assembleApp([says("Hello.")], { config: how.config })
  await runToEnd(await house.open(), "Say hello.")
  await using whole = await assembleApp([says("Hello.")], { config: how.config + SEARCH_OFF })
  await runToEnd(await whole.open(), "Say hello.")

  expect(Buffer.byteLength(house.model.requests[0]!.rawBody)).toBeLessThan(how.atMost)
  const deferred = deferredNames(house)
  const declared = house.model.view(0).tools
  expect(declared.filter((name) => BRIDGES.includes(name))).toEqual(deferred.length === 0 ? [] : BRIDGES)
  const reachable = [...declared, ...deferred].filter((name) => !BRIDGES.includes(name))
  expect(reachable.toSorted()).toEqual(whole.model.view(0).tools)
})

test("a lean session declares what files and commands need", async () => {
  await using house = await assembleApp([says("Hello.")], LEAN)
  await runToEnd(await house.open(), "Say hello.")
  expect(house.model.view(0).tools).toEqual(["read_file", "search_files", "terminal", ...BRIDGES, "write_file"])
})

test("a deferred tool is found, described and called, and is itself in events, results and the store", async () => {
  const todos = [{ id: "1", content: "Buy tea", status: "pending" }]
  await using house = await assembleApp(
    [
      callsTool("tool_search", { query: "task list", limit: 1 }, { id: "a" }),
      callsTool("tool_describe", { name: "todo" }, { id: "b" }),
      callsTool("tool_call", { name: "todo", arguments: { todos } }, { id: "c" }),
      says("Noted."),
    ],
    LEAN,
  )
  const session = await house.open()
  const { end, events } = await runToEnd(session, "note that I must buy tea")

  expect(end.outcome).toBe("completed")
  const [found, described, called] = [1, 2, 3].map((index) => resultOf(house, index))
  expect(found).toMatchObject({ results: [{ name: "todo", parameters: "todos?, merge?" }] })
  const { description, parameters } = TOOL_MANIFEST["todo"]!
  expect(described).toEqual({ name: "todo", description, parameters })
  expect(called).toMatchObject({ todos, summary: { total: 1 } })
  expect(events.flatMap((event) => (event.type === "tool-start" ? [event.call] : []))).toMatchObject([
    { id: "a", name: "tool_search" },
    { id: "b", name: "tool_describe" },
    { id: "c", name: "todo", args: { todos } },
  ])
  const stored = await (await house.app.store()).conversation(session.id)
  expect(stored.flatMap((message) => (message.role === "tool" ? [message.tool_name] : []))).toEqual([
    "tool_search",
    "tool_describe",
    "todo",
  ])
  expect(
    house.model
      .view(3)
      .messages.flatMap(({ calls }) => calls.map(({ name, input }) => [name, input]))
      .at(-1),
  ).toEqual(["tool_call", { name: "todo", arguments: { todos } }])
  expect(house.model.unanswered).toEqual([])
})

test("the list of tools and all earlier bytes stay the same while deferred tools are used, and after a restart", async () => {
  await using house = await assembleApp(
    [
      callsTool("tool_search", { query: "remember facts" }),
      callsTool("tool_call", { name: "memory", arguments: { action: "add", content: "Likes tea." } }),
      says("Kept."),
      says("Still here."),
    ],
    LEAN,
  )
  const session = await house.open()
  await runToEnd(session, "I like tea")
  await session.close("test")
  const again = await house.restart()
  await using _release = again
  await runToEnd(await again.open({ resume: session.id }), "and now?")

  const bodies = house.model.requests.map(({ rawBody }) => rawBody)
  expect(bodies).toHaveLength(4)
  const changed = bodies.slice(1).filter((body, index) => !body.startsWith(bodies[index]!.slice(0, -2)))
  expect(changed).toEqual([])
})

test("the door judges the tool inside: a person is asked about the command, under the name of its tool", async () => {
  await using house = await assembleApp(
    [
      callsTool("tool_call", { name: "terminal", arguments: { command: "rm -rf build" } }, { id: "a" }),
      says("As you wish."),
    ],
    { ...LEAN, workFiles: { "build/x": "1" } },
  )
  const session = await house.open()
  const { events } = await runToEnd(session, "clean up", (event) => {
    if (event.type === "approval-request") session.answer(event.requestId, { kind: "approval", choice: "deny" })
  })
  expect(events.flatMap((event) => (event.type === "approval-request" ? [event] : []))).toMatchObject([
    { kind: "command", command: "rm -rf build", call: { id: "a", name: "terminal" } },
  ])
  expect(events.find(({ type }) => type === "tool-end")).toMatchObject({
    call: { name: "terminal" },
    outcome: "denied",
  })
})

test("a deferred tool that writes is blocked in plan mode like a declared one", async () => {
  await using house = await assembleApp(
    [callsTool("tool_call", { name: "memory", arguments: { action: "add", content: "Likes tea." } }), says("Later.")],
    LEAN,
  )
  const { events } = await runToEnd(await house.open({ permissionProfile: "plan" }), "I like tea")
  expect(events.find(({ type }) => type === "tool-end")).toMatchObject({ call: { name: "memory" }, outcome: "blocked" })
})

test("a tool outside the session's toolsets is neither found nor called", async () => {
  await using house = await assembleApp(
    [
      callsTool("tool_search", { query: "durable facts across sessions", limit: 20 }),
      callsTool("tool_call", { name: "memory", arguments: { action: "read" } }),
      says("There is none."),
    ],
    LEAN,
  )
  await runToEnd(await house.open({ toolsets: ["file", "todo", "session_search", "learnings"] }), "what do you know?")
  const { results, ...found } = resultOf(house, 1) as { readonly results: readonly { readonly name: string }[] }
  expect(results.map(({ name }) => name).toSorted()).toEqual(["learnings", "session_search", "todo"])
  expect(found).toEqual({ query: "durable facts across sessions", total_tools: 4 })
  expect(resultOf(house, 2)).toMatchObject({ error: expect.stringMatching(/^Unknown tool: memory\./u) as string })
})

/** The one tool result that was new in that request. */
function resultOf({ model }: AssembledApp, request: number): unknown {
  const [result] = model.toolResults(request)
  return JSON.parse(result?.text ?? "null")
}

/** What the description of the search says there is. */
function deferredNames({ model }: AssembledApp): readonly string[] {
  const { tools } = model.requests[0]!.body as { readonly tools: readonly WireTool[] }
  const search = tools.find((tool) => tool.function.name === "tool_search")
  return /There are: (.*)\.$/u.exec(search?.function.description ?? "")?.[1]?.split(", ") ?? []
}

interface WireTool {
  readonly function: { readonly name: string; readonly description: string }
}
