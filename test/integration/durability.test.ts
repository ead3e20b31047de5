import { existsSync } from "node:fs"
import { mkdir, rm } from "node:fs/promises"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { setImmediate as nextTick } from "node:timers/promises"

import { expect, test } from "vitest"

import type { SessionId } from "../../src/protocol/identifiers.ts"
import type { Message } from "../../src/protocol/message.ts"
import { newSessionId } from "../../src/state/session-id.ts"
import { systemClock } from "../../src/base/clock.ts"
import type { ModelServer } from "../support/model-server/server.ts"
import { callsTool, reply, says } from "../support/model-server/turn.ts"
import { assembleApp, runToEnd } from "./assembled-app.ts"
import type { AssembledApp } from "./assembled-app.ts"

test("consecutive requests are byte-prefixes of one another, also after a resume", async () => {
  await using house = await assembleApp(
    [
      reply({ text: "Looking. ", calls: [{ name: "read_file", input: { path: "é.txt" } }] }),
      reply({
        calls: [
          { name: "write_file", input: { content: "b\n", path: "b.txt" } },
          { name: "memory", input: { action: "add", target: "memory", content: "likes tea" } },
        ],
      }),
      says("  Done — “quoted” 🎉\n"),
      callsTool("terminal", ' { "command" : "echo hi",  "timeout": 5 } '),
      says("Said hi."),
      callsTool("terminal", { command: "echo again" }),
      says("And again."),
    ],
    { workFiles: { "é.txt": "zażółć \u{1F600}\r\nline\n" } },
  )
  const session = await house.open()
  await runToEnd(session, "look around\n")
  await runToEnd(session, "  say hi  ")
  await session.close("test")
  const later = await house.restart()
  const resumed = await later.open({ resume: session.id })
  await runToEnd(resumed, "and again")
  await later[Symbol.asyncDispose]()

  expect(house.model.unanswered).toEqual([])
  expect(house.model.requests).toHaveLength(7)
  expectPrefixes(house.model)
})

test("a steer and a denied call do not change what was sent before", async () => {
  await using house = await assembleApp([
    callsTool("terminal", { command: "echo one" }),
    callsTool("terminal", { command: "rm -r nothing" }),
    says("Fine."),
    says("Bye."),
  ])
  const session = await house.open()
  await runToEnd(session, "go", (event) => {
    if (event.type === "tool-start" && event.preview === "echo one") session.steer("be careful")
    if (event.type === "approval-request") session.answer(event.requestId, { kind: "approval", choice: "deny" })
  })
  await session.close("test")
  const later = await house.restart()
  await runToEnd(await later.open({ resume: session.id }), "bye")
  await later[Symbol.asyncDispose]()
  expect(house.model.requests).toHaveLength(4)
  expectPrefixes(house.model)
})

test("a call whose result was lost is reported once and not run again", async () => {
  await using house = await assembleApp([says("I will look first."), says("Still there.")])
  const id = await lostCall(house, [
    { id: "call_kept", command: "echo kept >> effects.log" },
    { id: "call_lost", command: "echo lost >> effects.log" },
  ])
  const first = await house.open({ resume: id })
  await runToEnd(first, "go on")
  await first.close("test")
  const later = await house.restart()
  await runToEnd(await later.open({ resume: id }), "and on")
  await later[Symbol.asyncDispose]()

  for (const index of [0, 1]) {
    const results = house.model.view(index).messages.flatMap((message) => message.results)
    expect(results.map(({ id: call }) => call)).toEqual(["call_kept", "call_lost"])
    expect(results[1]?.text).toContain("outcome of this call is unknown")
  }
  expectPrefixes(house.model)
  expect(existsSync(join(house.home.workdir, "effects.log"))).toBe(false)
})

test("a store that fails before a reply is kept ends the run: the call does not run", async () => {
  await using house = await assembleApp([
    () => {
      breakStore(house, "NEW.role = 'assistant'")
      return callsTool("terminal", { command: "touch ran" })
    },
  ])
  const { end } = await runToEnd(await house.open(), "go")
  expect([end.outcome, end.result.exitReason, end.result.error?.code]).toEqual([
    "error",
    "storage_failed",
    "storage_failed",
  ])
  expect(existsSync(join(house.home.workdir, "ran"))).toBe(false)
  expect(house.model.requests).toHaveLength(1)
})

test("a store that fails before a prompt is kept sends nothing", async () => {
  await using house = await assembleApp([says("First."), says("Never sent.")])
  const session = await house.open()
  await runToEnd(session, "one")
  breakStore(house, "NEW.role = 'user'")
  const { end } = await runToEnd(session, "two")
  expect(end.result.exitReason).toBe("storage_failed")
  expect(house.model.requests).toHaveLength(1)
})

test("a store that fails before a result is kept ends the run, also when the reader is slow", async () => {
  await using house = await assembleApp([
    () => {
      breakStore(house, "NEW.role = 'tool'")
      return reply({
        calls: [
          { name: "write_file", input: { path: "first", content: "x" } },
          { name: "terminal", input: { command: "touch second" } },
        ],
      })
    },
  ])
  const first = join(house.home.workdir, "first")
  const { end } = await runToEnd(await house.open(), "go", async (event) => {
    if (event.type !== "tool-start") return
    while (!existsSync(first)) await nextTick()
    for (let turn = 0; turn < 100; turn += 1) await nextTick()
  })
  expect(end.result.exitReason).toBe("storage_failed")
  expect(existsSync(join(house.home.workdir, "second"))).toBe(false)
  expect(house.model.requests).toHaveLength(1)
})

test("a run that the store ended still tells what it used", async () => {
  await using house = await assembleApp([
    () => {
      breakStore(house, "NEW.role = 'tool'")
      return { ...callsTool("terminal", { command: "true" }), usage: { input: 70, output: 7 } }
    },
  ])
  const { end } = await runToEnd(await house.open(), "go")
  const { apiCalls, toolCalls, usage } = end.result
  expect({ apiCalls, toolCalls, input: usage.input, output: usage.output }).toEqual({
    apiCalls: 1,
    toolCalls: 1,
    input: 70,
    output: 7,
  })
})

test("a store that cannot be opened: the conversation goes on unsaved and says so", async () => {
  await using house = await assembleApp([says("Hello."), says("Again.")])
  await mkdir(join(house.home.path, "state.db"))
  const session = await house.open()
  expect(session.facts.unsaved).toBeTruthy()
  const first = await runToEnd(session, "hello")
  expect(
    first.events.flatMap((event) => (event.type === "status" && event.kind === "warning" ? [event.text] : [])),
  ).toEqual([`This conversation is not saved: ${session.facts.unsaved ?? ""}`])
  expect(first.end.result.finalResponse).toBe("Hello.")
  await runToEnd(session, "again")
  expect(house.model.view(1).messages.map(({ text }) => text)).toEqual(["hello", "Hello.", "again"])
  await expect(house.open({ resume: session.id })).rejects.toThrow(/cannot be resumed/)
  await rm(join(house.home.path, "state.db"), { recursive: true })
})

test("an unknown session cannot be resumed", async () => {
  await using house = await assembleApp([])
  await expect(house.open({ resume: newSessionId(systemClock, "terminal") })).rejects.toThrow(/there is no session/)
})

/** Law 3: whatever was sent once stays as it was, byte for byte; later requests only add to it. */
function expectPrefixes(model: ModelServer): void {
  for (const [index, { rawBody }] of model.requests.entries()) {
    const next = model.requests[index + 1]?.rawBody
    if (next === undefined) continue
    const common = rawBody.slice(0, -"]}".length)
    expect([index, next.slice(0, common.length) === common && next.length > rawBody.length]).toEqual([index, true])
  }
}

/** From now on the database refuses the rows that fit, as a full or failing disk would. */
function breakStore(house: AssembledApp, when: string): void {
  const db = new DatabaseSync(join(house.home.path, "state.db"))
  db.exec(`CREATE TRIGGER broken BEFORE INSERT ON messages WHEN ${when} BEGIN SELECT RAISE(ABORT, 'disk failed'); END`)
  db.close()
}

/** A session as a killed process leaves it: the first call has its result, the others have none. */
async function lostCall(
  house: AssembledApp,
  calls: readonly { readonly id: string; readonly command: string }[],
): Promise<SessionId> {
  const store = await house.app.store()
  const id = newSessionId(systemClock, "terminal")
  const now = systemClock.now() / 1000
  await store.createSession({ id, source: "cli", startedAt: now, systemPrompt: "You are a test." })
  const messages: Message[] = [
    { role: "user", content: "go", timestamp: now },
    {
      role: "assistant",
      content: null,
      tool_calls: calls.map((call) => ({
        id: call.id,
        type: "function",
        function: { name: "terminal", arguments: JSON.stringify({ command: call.command }) },
      })),
      finish_reason: "tool_calls",
      timestamp: now,
    },
    { role: "tool", tool_call_id: calls[0]?.id ?? "", tool_name: "terminal", content: "{}", timestamp: now },
  ]
  await store.append(id, messages)
  return id
}
