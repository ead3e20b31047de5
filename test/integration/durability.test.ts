import { existsSync } from "node:fs"
import { mkdir, rm } from "node:fs/promises"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { setImmediate as nextEventLoop } from "node:timers/promises"

import { expect, test, vi } from "vitest"

import type { SessionId } from "../../src/protocol/identifiers.ts"
import type { Message } from "../../src/protocol/message.ts"
import { newSessionId } from "../../src/state/session-id.ts"
import { systemClock } from "../../src/base/clock.ts"
import type { ModelServer } from "../support/model-server/server.ts"
import { callsTool, reply, says } from "../support/model-server/turn.ts"
import { assembleApp, runToEnd } from "./assembled-app.ts"
import type { AssembledApp } from "./assembled-app.ts"

test("each request extends the bytes of the previous one, even after a resume", async () => {
  await using assembled = await assembleApp(
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
  const session = await assembled.open()
  await runToEnd(session, "look around, and note that I like tea\n")
  await runToEnd(session, "  say hi  ")
  await session.close("test")
  const later = await assembled.restart()
  const resumed = await later.open({ resume: session.id })
  await runToEnd(resumed, "and again")
  await later[Symbol.asyncDispose]()

  expect(assembled.model.unanswered).toEqual([])
  expect(assembled.model.requests).toHaveLength(7)
  expectPrefixes(assembled.model)
})

test("a steer and a denied call do not change the bytes of earlier requests", async () => {
  await using assembled = await assembleApp([
    callsTool("terminal", { command: "echo one" }),
    callsTool("terminal", { command: "rm -r nothing" }),
    says("Fine."),
    says("Bye."),
  ])
  const session = await assembled.open()
  await runToEnd(session, "go", (event) => {
    if (event.type === "tool-start" && event.preview === "echo one") session.steer("be careful")
    if (event.type === "approval-request") session.answer(event.requestId, { kind: "approval", choice: "deny" })
  })
  await session.close("test")
  const later = await assembled.restart()
  await runToEnd(await later.open({ resume: session.id }), "bye")
  await later[Symbol.asyncDispose]()
  expect(assembled.model.requests).toHaveLength(4)
  expectPrefixes(assembled.model)
})

test("a call whose result was lost is reported once and not run again", async () => {
  await using assembled = await assembleApp([says("I will look first."), says("Still there.")])
  const id = await storeLostCall(assembled, [
    { id: "call_kept", command: "echo kept >> effects.log" },
    { id: "call_lost", command: "echo lost >> effects.log" },
  ])
  const first = await assembled.open({ resume: id })
  await runToEnd(first, "go on")
  await first.close("test")
  const later = await assembled.restart()
  await runToEnd(await later.open({ resume: id }), "and on")
  await later[Symbol.asyncDispose]()

  for (const index of [0, 1]) {
    const results = assembled.model.view(index).messages.flatMap((message) => message.results)
    expect(results.map(({ id: call }) => call)).toEqual(["call_kept", "call_lost"])
    expect(results[1]?.text).toContain("outcome of this call is unknown")
  }
  expectPrefixes(assembled.model)
  expect(existsSync(join(assembled.home.workdir, "effects.log"))).toBe(false)
})

test("when the store cannot save a reply, the run ends and the call does not run", async () => {
  await using assembled = await assembleApp([
    () => {
      breakStore(assembled, "NEW.role = 'assistant'")
      return callsTool("terminal", { command: "touch ran" })
    },
  ])
  const { end } = await runToEnd(await assembled.open(), "go")
  expect([end.outcome, end.result.exitReason, end.result.error?.code]).toEqual([
    "error",
    "storage_failed",
    "storage_failed",
  ])
  expect(existsSync(join(assembled.home.workdir, "ran"))).toBe(false)
  expect(assembled.model.requests).toHaveLength(1)
})

test("when the store cannot save a prompt, no request is sent", async () => {
  await using assembled = await assembleApp([says("First."), says("Never sent.")])
  const session = await assembled.open()
  await runToEnd(session, "one")
  breakStore(assembled, "NEW.role = 'user'")
  const { end } = await runToEnd(session, "two")
  expect(end.result.exitReason).toBe("storage_failed")
  expect(assembled.model.requests).toHaveLength(1)
})

test("when the store cannot save a result, the run ends, even with a slow consumer of events", async () => {
  await using assembled = await assembleApp([
    () => {
      breakStore(assembled, "NEW.role = 'tool'")
      return reply({
        calls: [
          { name: "write_file", input: { path: "first", content: "x" } },
          { name: "terminal", input: { command: "touch second" } },
        ],
      })
    },
  ])
  const first = join(assembled.home.workdir, "first")
  const { end } = await runToEnd(await assembled.open(), "go", async (event) => {
    if (event.type !== "tool-start") return
    await vi.waitUntil(() => existsSync(first), { timeout: 10_000, interval: 1 })
    for (let turn = 0; turn < 100; turn += 1) await nextEventLoop()
  })
  expect(end.result.exitReason).toBe("storage_failed")
  expect(existsSync(join(assembled.home.workdir, "second"))).toBe(false)
  expect(assembled.model.requests).toHaveLength(1)
})

test("a run that ended with a store failure still reports its usage", async () => {
  await using assembled = await assembleApp([
    () => {
      breakStore(assembled, "NEW.role = 'tool'")
      return { ...callsTool("terminal", { command: "true" }), usage: { input: 70, output: 7 } }
    },
  ])
  const { end } = await runToEnd(await assembled.open(), "go")
  const { apiCalls, toolCalls, usage } = end.result
  expect({ apiCalls, toolCalls, input: usage.input, output: usage.output }).toEqual({
    apiCalls: 1,
    toolCalls: 1,
    input: 70,
    output: 7,
  })
})

test("when the store cannot be opened, the conversation continues unsaved and a warning is emitted", async () => {
  await using assembled = await assembleApp([says("Hello."), says("Again.")])
  await mkdir(join(assembled.home.path, "state.db"))
  const session = await assembled.open()
  expect(session.facts.unsaved).toBeTruthy()
  const first = await runToEnd(session, "hello")
  expect(
    first.events.flatMap((event) => (event.type === "status" && event.kind === "warning" ? [event.text] : [])),
  ).toEqual([`This conversation is not saved: ${session.facts.unsaved ?? ""}`])
  expect(first.end.result.finalResponse).toBe("Hello.")
  const second = await runToEnd(session, "again")
  expect(second.events.filter((event) => event.type === "status" && event.kind === "warning")).toEqual([])
  const other = await assembled.open()
  expect(other.takeOpeningWarnings()).toEqual([`This conversation is not saved: ${session.facts.unsaved ?? ""}`])
  expect(assembled.model.view(1).messages.map(({ text }) => text)).toEqual(["hello", "Hello.", "again"])
  await expect(assembled.open({ resume: session.id })).rejects.toThrow(/cannot be resumed/)
  await rm(join(assembled.home.path, "state.db"), { recursive: true })
})

test("an unknown session cannot be resumed", async () => {
  await using assembled = await assembleApp([])
  await expect(assembled.open({ resume: newSessionId(systemClock, "terminal") })).rejects.toThrow(/there is no session/)
})

/** A request contains the previous one byte for byte and only appends to it, because providers cache by prefix. */
function expectPrefixes(model: ModelServer): void {
  for (const [index, { rawBody }] of model.requests.entries()) {
    const next = model.requests[index + 1]?.rawBody
    if (next === undefined) continue
    const common = rawBody.slice(0, -"]}".length)
    expect([index, next.slice(0, common.length) === common && next.length > rawBody.length]).toEqual([index, true])
  }
}

/** Makes the database reject matching rows from now on, as a full or failing disk would. */
function breakStore(assembled: AssembledApp, when: string): void {
  const db = new DatabaseSync(join(assembled.home.path, "state.db"))
  db.exec(`CREATE TRIGGER broken BEFORE INSERT ON messages WHEN ${when} BEGIN SELECT RAISE(ABORT, 'disk failed'); END`)
  db.close()
}

/** Stores a session as a killed process leaves it: the first call has a result, the others have none. */
async function storeLostCall(
  assembled: AssembledApp,
  calls: readonly { readonly id: string; readonly command: string }[],
): Promise<SessionId> {
  const store = await assembled.app.store()
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
