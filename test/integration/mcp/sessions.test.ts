import { readFileSync, writeFileSync } from "node:fs"
import { mkdtempDisposable } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"

import { describe, expect, test } from "vitest"

import { isRecord } from "../../../src/base/json.ts"
import { fixtureCommand, mcpConfig } from "../../support/mcp/fixture-servers.ts"
import { callsTool, says } from "../../support/model-server/turn.ts"
import type { ScriptEntry } from "../../support/model-server/turn.ts"
import { assembleApp, runToEnd } from "../assembled-app.ts"
import type { AssembledApp } from "../assembled-app.ts"

const called = (name: string, args: object = {}): ScriptEntry =>
  callsTool("tool_call", { name: `mcp_fix_${name}`, arguments: args })
const search = callsTool("tool_search", { query: "repeats a text" })

/** What the model read as the result of its last call. */
function lastResult({ model }: AssembledApp): string {
  return model.toolResults(model.requests.length - 1)[0]?.text ?? ""
}

async function declaredTools({ model }: AssembledApp, index: number): Promise<string> {
  const { body } = await model.received(index)
  return JSON.stringify(isRecord(body) ? body["tools"] : undefined)
}

test("the declared tools stay the same when the tools of a server arrive, and in the next session", async () => {
  await using app = await assembleApp([search, called("echo", { text: "hi" }), says("One."), says("Two.")], {
    config: mcpConfig({ fix: fixtureCommand() }),
  })
  await runToEnd(await app.open({ permissionProfile: "full-auto" }), "go")
  await using later = await app.restart()
  await runToEnd(await later.open(), "again")
  const first = await declaredTools(app, 0)
  expect(first).toContain("More tools come from the MCP servers fix.")
  expect(first).not.toContain("mcp_fix_echo")
  for (const index of [1, 2, 3]) expect(await declaredTools(app, index)).toBe(first)
})

test("results are labelled as text from outside", async () => {
  await using app = await assembleApp([search, called("echo", { text: "x".repeat(40) }), says("Done.")], {
    config: mcpConfig({ fix: fixtureCommand() }),
  })
  await runToEnd(await app.open({ permissionProfile: "full-auto" }), "go")
  expect(lastResult(app)).toContain('<untrusted_tool_result source="mcp_fix_echo">')
  expect(lastResult(app)).toContain(`{"result":"${"x".repeat(40)}"}`)
})

describe("a result", () => {
  test.each([
    ["structured", '{"result":"21 degrees","structuredContent":{"degrees":21}}'],
    ["fail", '{"error":"it did not work"}'],
    ["link", "[resource a.txt: file:///a.txt]\\n[resource file:///b.txt]\\ninside b"],
    ["picture", "a pixel\\nMEDIA:"],
    ["list_resources", '{"resources":[{"uri":"memo://1"'],
    ["get_prompt", "name` is required"],
  ])("of %s", async (tool, expected) => {
    await using app = await assembleApp([search, called(tool), says("Done.")], {
      config: mcpConfig({ fix: fixtureCommand() }),
    })
    await runToEnd(await app.open({ permissionProfile: "full-auto" }), "go")
    expect(lastResult(app)).toContain(expected)
  })
})

test("a changed description is quarantined, and the user can accept it at the call", async () => {
  await using scratch = await mkdtempDisposable(join(tmpdir(), "hermes-mcp-"))
  const descriptionFile = join(scratch.path, "description")
  await using app = await assembleApp(
    [
      search,
      says("Hello."),
      search,
      called("echo", { text: "a" }),
      says("One."),
      called("echo", { text: "b" }),
      says("Two."),
    ],
    { config: mcpConfig({ fix: fixtureCommand({ descriptionFile }) }) },
  )
  await runToEnd(await app.open({ permissionProfile: "full-auto" }), "hello")
  writeFileSync(descriptionFile, "Repeats a text twice.")
  await using later = await app.restart()
  const session = await later.open({ permissionProfile: "full-auto" })
  const answers = ["Refuse", "Accept the new description"]
  const questions: string[] = []
  for (const text of ["a", "b"]) {
    const { events } = await runToEnd(session, `say ${text}`, (event) => {
      if (event.type !== "clarify-request") return
      questions.push(event.question)
      session.answer(event.requestId, { kind: "clarify", text: answers.shift() ?? "" })
    })
    const end = events.findLast((event) => event.type === "tool-end")
    expect(end?.outcome).toBe(text === "a" ? "error" : "ok")
  }
  expect(questions[0]).toContain("Before: Repeats a text.\nNow: Repeats a text twice.")
})

test("a script connects to a known server only when it calls one of its tools", async () => {
  await using scratch = await mkdtempDisposable(join(tmpdir(), "hermes-mcp-"))
  const log = join(scratch.path, "starts")
  await using app = await assembleApp([search, says("One."), says("Two.")], {
    config: mcpConfig({ fix: fixtureCommand({ log }) }),
  })
  const starts = (): number =>
    readFileSync(log, "utf8")
      .split("\n")
      .filter((line) => line.startsWith("start")).length
  await runToEnd(await app.open({ attended: false }), "first")
  expect(starts()).toBe(1)
  await using later = await app.restart()
  await runToEnd(await later.open({ attended: false }), "second")
  expect(starts()).toBe(1)
})

test("a dead server costs the session nothing but its tools", async () => {
  await using app = await assembleApp([callsTool("read_file", { path: "a.txt" }), says("Done.")], {
    config: mcpConfig({ dead: { command: "/does/not/exist" }, slow: fixtureCommand({ startDelayMs: 60_000 }) }),
    workFiles: { "a.txt": "built in\n" },
  })
  const { end } = await runToEnd(await app.open(), "go")
  expect(end.outcome).toBe("completed")
  expect(lastResult(app)).toContain("built in")
})

test("toolsets select and disable servers", async () => {
  const tools = async (options: object, config = ""): Promise<boolean> => {
    await using app = await assembleApp([says("Hi.")], { config: `${mcpConfig({ fix: fixtureCommand() })}${config}` })
    await runToEnd(await app.open(options), "hi")
    return (await declaredTools(app, 0)).includes("MCP servers fix")
  }
  expect(await tools({ toolsets: ["file"] })).toBe(false)
  expect(await tools({ toolsets: ["file", "fix"] })).toBe(true)
  expect(await tools({}, "agent:\n  disabled_toolsets: [mcp-fix]\n")).toBe(false)
})
