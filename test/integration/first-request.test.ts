import { expect, test } from "vitest"

import { TOOL_MANIFEST } from "../../src/tools/manifest.generated.ts"
import { callsTool, says } from "../support/model-server/turn.ts"
import { assembleApp, runToEnd } from "./assembled-app.ts"
import type { AssembledApp } from "./assembled-app.ts"

const LEAN = { config: "agent:\n  prompt_style: lean\n" }
const SEARCH_OFF = "tools:\n  tool_search:\n    enabled: false\n"
const SEARCH_TOOLS = ["tool_call", "tool_describe", "tool_search"]

test.each([
  { style: "default", config: "", atMost: 16_000 },
  { style: "lean", ...LEAN, atMost: 6000 },
])(
  "the first request of a $style session is short, and every tool is declared or listed by tool_search",
  async (variant) => {
    await using assembled = await assembleApp([says("Hello.")], { config: variant.config })
    await runToEnd(await assembled.open(), "Say hello.")
    await using whole = await assembleApp([says("Hello.")], { config: variant.config + SEARCH_OFF })
    await runToEnd(await whole.open(), "Say hello.")

    expect(Buffer.byteLength(assembled.model.requests[0]!.rawBody)).toBeLessThan(variant.atMost)
    const deferred = deferredNames(assembled)
    const declared = assembled.model.view(0).tools
    expect(declared.filter((name) => SEARCH_TOOLS.includes(name))).toEqual(deferred.length === 0 ? [] : SEARCH_TOOLS)
    const reachable = [...declared, ...deferred].filter((name) => !SEARCH_TOOLS.includes(name))
    expect(reachable.toSorted()).toEqual(whole.model.view(0).tools)
  },
)

test("a lean session declares the tools for files and commands", async () => {
  await using assembled = await assembleApp([says("Hello.")], LEAN)
  await runToEnd(await assembled.open(), "Say hello.")
  const { tools } = assembled.model.view(0)
  expect(tools).toEqual(
    expect.arrayContaining(["read_file", "search_files", "terminal", "write_file", ...SEARCH_TOOLS]),
  )
})

test("a deferred tool is found, described and called, and events, results and the store have its own name", async () => {
  const todos = [{ id: "1", content: "Buy tea", status: "pending" }]
  await using assembled = await assembleApp(
    [
      callsTool("tool_search", { query: "task list", limit: 1 }, { id: "a" }),
      callsTool("tool_describe", { name: "todo" }, { id: "b" }),
      callsTool("tool_call", { name: "todo", arguments: { todos } }, { id: "c" }),
      says("Noted."),
    ],
    LEAN,
  )
  const session = await assembled.open()
  const { end, events } = await runToEnd(session, "note that I must buy tea")

  expect(end.outcome).toBe("completed")
  const [found, described, called] = [1, 2, 3].map((index) => resultOf(assembled, index))
  expect(found).toMatchObject({ results: [{ name: "todo", parameters: "todos?, merge?" }] })
  const { description, parameters } = TOOL_MANIFEST["todo"]!
  expect(described).toEqual({ name: "todo", description, parameters })
  expect(called).toMatchObject({ todos, summary: { total: 1 } })
  expect(events.flatMap((event) => (event.type === "tool-start" ? [event.call] : []))).toMatchObject([
    { id: "a", name: "tool_search" },
    { id: "b", name: "tool_describe" },
    { id: "c", name: "todo", args: { todos } },
  ])
  const stored = await (await assembled.app.store()).conversation(session.id)
  expect(stored.flatMap((message) => (message.role === "tool" ? [message.tool_name] : []))).toEqual([
    "tool_search",
    "tool_describe",
    "todo",
  ])
  expect(
    assembled.model
      .view(3)
      .messages.flatMap(({ calls }) => calls.map(({ name, input }) => [name, input]))
      .at(-1),
  ).toEqual(["tool_call", { name: "todo", arguments: { todos } }])
  expect(assembled.model.unanswered).toEqual([])
})

test("requests keep the bytes of earlier ones while deferred tools are used, and after a restart", async () => {
  await using assembled = await assembleApp(
    [
      callsTool("tool_search", { query: "remember facts" }),
      callsTool("tool_call", { name: "memory", arguments: { action: "add", content: "Likes tea." } }),
      says("Kept."),
      says("Still here."),
    ],
    LEAN,
  )
  const session = await assembled.open()
  await runToEnd(session, "I like tea")
  await session.close("test")
  const again = await assembled.restart()
  await using _release = again
  await runToEnd(await again.open({ resume: session.id }), "and now?")

  const bodies = assembled.model.requests.map(({ rawBody }) => rawBody)
  expect(bodies).toHaveLength(4)
  const changed = bodies.slice(1).filter((body, index) => !body.startsWith(bodies[index]!.slice(0, -2)))
  expect(changed).toEqual([])
})

test("tool_call asks for approval of the deferred tool's command, under the name of that tool", async () => {
  await using assembled = await assembleApp(
    [
      callsTool("tool_call", { name: "terminal", arguments: { command: "rm -rf build" } }, { id: "a" }),
      says("I will not."),
    ],
    { config: `${LEAN.config}terminal:\n  sandbox: off\n`, workFiles: { "build/x": "1" } },
  )
  const session = await assembled.open()
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

test("plan mode blocks a deferred tool that writes", async () => {
  await using assembled = await assembleApp(
    [callsTool("tool_call", { name: "memory", arguments: { action: "add", content: "Likes tea." } }), says("Later.")],
    LEAN,
  )
  const { events } = await runToEnd(await assembled.open({ permissionProfile: "plan" }), "I like tea")
  expect(events.find(({ type }) => type === "tool-end")).toMatchObject({ call: { name: "memory" }, outcome: "blocked" })
})

test("a tool outside the session's toolsets is neither found nor called", async () => {
  await using assembled = await assembleApp(
    [
      callsTool("tool_search", { query: "durable facts across sessions", limit: 20 }),
      callsTool("tool_call", { name: "memory", arguments: { action: "read" } }),
      says("There is none."),
    ],
    LEAN,
  )
  await runToEnd(
    await assembled.open({ toolsets: ["file", "todo", "session_search", "learnings"] }),
    "what do you know?",
  )
  const { results } = resultOf(assembled, 1) as { readonly results: readonly { readonly name: string }[] }
  const names = results.map(({ name }) => name)
  expect([names.includes("session_search"), names.includes("memory")]).toEqual([true, false])
  expect(resultOf(assembled, 2)).toMatchObject({ error: expect.stringMatching(/^Unknown tool: memory\./u) as string })
})

/** The tool result that the request added. */
function resultOf({ model }: AssembledApp, request: number): unknown {
  const [result] = model.toolResults(request)
  return JSON.parse(result?.text ?? "null")
}

/** The tools that the description of tool_search lists. */
function deferredNames({ model }: AssembledApp): readonly string[] {
  const { tools } = model.requests[0]!.body as { readonly tools: readonly WireTool[] }
  const search = tools.find((tool) => tool.function.name === "tool_search")
  return /There are: (.*)\.$/u.exec(search?.function.description ?? "")?.[1]?.split(", ") ?? []
}

interface WireTool {
  readonly function: { readonly name: string; readonly description: string }
}
