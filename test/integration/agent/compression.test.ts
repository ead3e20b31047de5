import { readFile } from "node:fs/promises"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"

import { expect, test } from "vitest"

import type { Clock } from "../../../src/base/clock.ts"
import { isValidHistory } from "../../../src/agent/context/history-validity.ts"
import type { Message } from "../../../src/protocol/message.ts"
import { talk, toolRound, user } from "../../fixtures/agent/histories.ts"
import type { RecordedRequest } from "../../support/model-server/recorded-request.ts"
import { startModelServer } from "../../support/model-server/server.ts"
import { callsTool, refuses, repeat, reply, says } from "../../support/model-server/turn.ts"
import type { ScriptEntry, Turn } from "../../support/model-server/turn.ts"
import { assembleApp, runToEnd } from "../assembled-app.ts"
import type { AssembledApp, RunRecord } from "../assembled-app.ts"
import { wireProblems } from "./on-every-wire.ts"
import { seedSession } from "./seeded-session.ts"

const { signal } = new AbortController()
const LARGE_WINDOW = "  context_length: 200000\n"

const SUMMARY = "## Active Task\nPaint the door.\n\n## Goal\nA blue assembled."

/** Summary requests go to the same server and are recognised by their instructions. */
function isSummaryRequest({ rawBody }: RecordedRequest): boolean {
  return rawBody.includes("You write context checkpoints")
}

/** Answers summary requests with `summary` and all others with the turns, in order. */
function withSummaries(turns: readonly Turn[], summary: Turn = says(SUMMARY)): readonly ScriptEntry[] {
  const left = [...turns]
  return [repeat((request) => (isSummaryRequest(request) ? summary : (left.shift() ?? says("(no turn left)"))))]
}

function warnings({ events }: RunRecord): readonly string[] {
  return events.flatMap((event) => (event.type === "status" && event.kind === "warning" ? [event.text] : []))
}

function rotations({ events }: RunRecord): readonly (readonly [string, string])[] {
  return events.flatMap((event) =>
    event.type === "session-rotated" ? [[event.oldSessionId, event.newSessionId] as const] : [],
  )
}

async function storedWords(assembled: AssembledApp, id: Awaited<ReturnType<typeof seedSession>>): Promise<string> {
  return JSON.stringify(await (await assembled.app.store()).conversation(id))
}

const bigRead = (id: string): readonly Message[] =>
  toolRound([{ id, result: JSON.stringify({ content: `${id}: ${"line of the file\n".repeat(7000)}` }) }])

test("a bare 400 with a long history: large results are shortened, the request is retried, and the session stays", async () => {
  await using assembled = await assembleApp([refuses(400, "Error"), says("It is blue."), says("Bye.")], {
    config: LARGE_WINDOW,
  })
  const history = [user("read them"), ...bigRead("a"), ...bigRead("b"), ...bigRead("c"), ...talk(2, 40).slice(1)]
  const id = await seedSession(assembled, history)
  const session = await assembled.open({ resume: id })
  const record = await runToEnd(session, "which colour?")

  expect([record.end.outcome, record.end.result.finalResponse, rotations(record)]).toEqual([
    "completed",
    "It is blue.",
    [],
  ])
  expect([session.id, record.end.result.sessionId]).toEqual([id, id])
  const [first, second] = assembled.model.requests.map(({ rawBody }) => rawBody.length)
  expect(first).toBeGreaterThan(340_000)
  expect(second).toBeLessThan((first ?? 0) * 0.8)
  // The file that the shortened result names has the full text, and the store keeps the original.
  const cut = assembled.model.view(1).messages.flatMap((message) => message.results.map(({ text }) => text))
  const path = /\/[^\s"\\]+\.txt/.exec(cut.find((text) => text.includes(".txt")) ?? "")?.[0] ?? ""
  expect(await readFile(path, "utf8")).toContain("line of the file")
  expect((await storedWords(assembled, id)).length).toBeGreaterThan(340_000)

  // A resumed session sends the same shortened bytes.
  await session.close("test")
  const later = await assembled.restart()
  await runToEnd(await later.open({ resume: id }), "bye")
  await later[Symbol.asyncDispose]()
  const [, answered, resumed] = assembled.model.requests
  expect(resumed?.rawBody.startsWith(answered?.rawBody.slice(0, -"]}".length) ?? "?")).toBe(true)
})

test("a bare 400 with a long history of text: rounds are removed, and the conversation continues in a child session", async () => {
  await using assembled = await assembleApp(withSummaries([refuses(400, "Error"), says("Blue."), says("Bye.")]), {
    config: LARGE_WINDOW,
  })
  const id = await seedSession(assembled, talk(360, 1000))
  const session = await assembled.open({ resume: id })
  const record = await runToEnd(session, "which colour?")

  expect([record.end.outcome, record.end.result.finalResponse]).toEqual(["completed", "Blue."])
  expect(rotations(record)).toEqual([[id, session.id]])
  expect([record.events[0]?.sessionId, record.events.at(-1)?.sessionId]).toEqual([id, session.id])
  expect(session.id).not.toBe(id)
  const main = assembled.model.requests.filter((request) => !isSummaryRequest(request))
  expect(main[1]?.rawBody.length).toBeLessThan((main[0]?.rawBody.length ?? 0) * 0.8)
  const index = assembled.model.requests.lastIndexOf(main[1] as RecordedRequest)
  expect([assembled.model.view(index).messages.at(-1)?.text, wireProblems(assembled.model, index)]).toEqual([
    "which colour?",
    [],
  ])

  const store = await assembled.app.store()
  const [parent, child] = [await store.session(id), await store.session(session.id)]
  expect([parent?.endReason, child?.parent, child?.title]).toEqual(["compression", id, "Seeded #2"])
  expect(isValidHistory(await store.conversation(session.id))).toBe(true)
  expect(await store.conversation(id)).toHaveLength(361)

  // The child session is resumed with the same bytes.
  await session.close("test")
  const later = await assembled.restart()
  await runToEnd(await later.open({ resume: session.id }), "bye")
  await later[Symbol.asyncDispose]()
  const resumed = assembled.model.requests.at(-1)?.rawBody ?? ""
  expect(resumed.startsWith(main[1]?.rawBody.slice(0, -"]}".length) ?? "?")).toBe(true)
})

test("after a compression, a call that was denied does not look as if it had been done", async () => {
  await using assembled = await assembleApp(withSummaries([refuses(400, "Error"), says("Blue.")]), {
    config: LARGE_WINDOW,
  })
  const denied = JSON.stringify({ error: "Not run: the user denied it.", status: "blocked" })
  const write = (id: string, result: string): readonly Message[] =>
    toolRound([{ id, tool: "write_file", args: { path: `~/Documents/${id}`, content: "x" }, result }])
  const others = talk(360, 1000)
  const writes = [...write("denied", denied), ...write("written", '{"bytes_written":1}')]
  const history = [...others.slice(0, 41), ...writes, ...others.slice(42)]
  const session = await assembled.open({ resume: await seedSession(assembled, history) })
  await runToEnd(session, "which colour?")
  const { messages } = assembled.model.view(assembled.model.requests.length - 1)
  const lines = messages.flatMap(({ text }) => text.split("\n").filter((line) => line.includes("[write_file]")))
  expect(lines).toEqual([
    "- Done: [write_file] wrote to ~/Documents/written (1 lines)",
    "- Not done: [write_file] path=~/Documents/denied content=x -> not run: it was not allowed",
  ])
})

test("a conversation that cannot be compressed ends with a message that says what to do", async () => {
  const tooLong = refuses(400, "maximum context length is 8192 tokens, you requested 99999 tokens")
  await using assembled = await assembleApp([repeat(tooLong)])
  const { end } = await runToEnd(await assembled.open(), "x".repeat(100_000))
  expect([end.outcome, end.result.error?.code]).toEqual(["error", "compression_exhausted"])
  expect(end.result.error?.message).toMatch(/remove your last message with \/undo, or start a new session with \/new/)
})

test("compression.enabled false: nothing is compressed, and an overflow ends the turn with compaction_disabled", async () => {
  const tooLong = refuses(400, "maximum context length is 8192 tokens, you requested 9000 tokens")
  await using assembled = await assembleApp([tooLong, says("never")], { config: "compression:\n  enabled: false\n" })
  const id = await seedSession(assembled, talk(60, 800))
  const { end } = await runToEnd(await assembled.open({ resume: id }), "go on")
  expect([end.outcome, end.result.error?.code, end.result.sessionId, assembled.model.requests.length]).toEqual([
    "error",
    "compaction_disabled",
    id,
    1,
  ])
  expect(end.result.error?.message).toContain("compression.enabled")
})

test("a conversation above the threshold is compressed before the request is sent", async () => {
  await using assembled = await assembleApp(withSummaries([says("Fine.")]), { config: "  context_length: 32000\n" })
  const id = await seedSession(assembled, talk(140, 1000))
  const session = await assembled.open({ resume: id })
  const record = await runToEnd(session, "go on")
  expect([record.end.outcome, rotations(record).length]).toEqual(["completed", 1])
  const sent = assembled.model.requests.find((request) => !isSummaryRequest(request))
  expect((sent?.rawBody.length ?? 0) / 4).toBeLessThan(27_200)
  expect(sent?.rawBody).toContain("session_search with session_id")
})

test("/compress with a topic writes a summary, reports what it saved, and continues in a child session", async () => {
  await using assembled = await assembleApp(withSummaries([says("Blue.")]), { config: LARGE_WINDOW })
  const id = await seedSession(assembled, talk(60, 400))
  const session = await assembled.open({ resume: id })
  const done = await session.compress({ focus: "the colour of the door", signal })
  if (!done.ok) throw new Error(done.error)
  expect(done.value).toMatchObject({ layersRun: [5], removedMessages: true, sessionId: session.id })
  expect([done.value.tokensAfter < done.value.tokensBefore, session.id === id]).toEqual([true, false])
  const asked = assembled.model
    .view(0)
    .messages.map(({ text }) => text)
    .join("\n")
  expect([asked.includes("the colour of the door"), asked.includes("## Plan Decisions")]).toEqual([true, true])

  await runToEnd(session, "which colour?")
  const words = assembled.model.view(1).messages.map(({ text }) => text)
  const carrier = words.find((text) => text.includes("[CONTEXT COMPACTION — REFERENCE ONLY]")) ?? ""
  expect(carrier).toContain("A blue assembled.")
  expect(carrier).toContain("--- END OF CONTEXT SUMMARY — respond to the message below, not the summary above ---")
  expect([words.at(-1), wireProblems(assembled.model, 1)]).toEqual(["which colour?", []])
})

test("when the summary model fails, the summary is extracted from the messages", async () => {
  await using assembled = await assembleApp(withSummaries([says("Blue.")], refuses(401, "no summaries for you")), {
    config: LARGE_WINDOW,
  })
  const id = await seedSession(assembled, [user("paint the door blue"), ...talk(60, 400).slice(1)])
  const session = await assembled.open({ resume: id })
  const done = await session.compress({ focus: "colours", signal })
  if (!done.ok) throw new Error(done.error)
  expect(done.value).toMatchObject({ layersRun: [5], removedMessages: true })
  expect(done.value.warning).toMatch(/^no model could write the summary: /)
  await runToEnd(session, "which colour?")
  const { messages } = assembled.model.view(assembled.model.requests.length - 1)
  const carrier = messages.find(({ text }) => text.includes("[CONTEXT COMPACTION — REFERENCE ONLY]"))?.text ?? ""
  for (const heading of ["## Active Task", "## Completed Actions", "## Plan Decisions"])
    expect(carrier).toContain(heading)
  expect(carrier).toMatch(/incomplete/i)
})

test("abort_on_summary_failure leaves the conversation unchanged", async () => {
  await using assembled = await assembleApp(withSummaries([says("Blue.")], refuses(401, "no")), {
    config: `${LARGE_WINDOW}compression:\n  abort_on_summary_failure: true\n`,
  })
  const id = await seedSession(assembled, talk(60, 400))
  const session = await assembled.open({ resume: id })
  const done = await session.compress({ focus: "colours", signal })
  expect(done).toMatchObject({ ok: true, value: { layersRun: [], removedMessages: false, sessionId: id } })
  await runToEnd(session, "which colour?")
  expect(assembled.model.view(assembled.model.requests.length - 1).messages).toHaveLength(61)
})

test("when the configured summary model fails, the main model writes the summary and a warning reports it", async () => {
  await using auxiliary = await startModelServer([refuses(401, "expired"), refuses(401, "expired")])
  await using assembled = await assembleApp(withSummaries([says("Blue.")]), {
    config: `${LARGE_WINDOW}auxiliary:\n  compression:\n    provider: custom\n    model: small\n    base_url: ${auxiliary.url}/v1\n`,
  })
  const id = await seedSession(assembled, talk(60, 400))
  const session = await assembled.open({ resume: id })
  const done = await session.compress({ focus: "colours", signal })
  if (!done.ok) throw new Error(done.error)
  expect([auxiliary.requests.length > 0, assembled.model.requests.length, done.value.layersRun]).toEqual([true, 1, [5]])
  expect(done.value.warning).toContain("auxiliary.compression")
})

test("an interrupt during the summary changes nothing", async () => {
  const never = new Promise<void>(() => undefined)
  const summary = { ...says(SUMMARY), waitsFor: never }
  await using assembled = await assembleApp(withSummaries([says("Fine.")], summary), { config: LARGE_WINDOW })
  const id = await seedSession(assembled, talk(60, 400))
  const session = await assembled.open({ resume: id })
  const stop = new AbortController()
  const compressing = session.compress({ focus: "colours", signal: stop.signal })
  await assembled.model.received(0)
  await expect(runToEnd(session, "now?")).rejects.toThrow("this session is already running")
  stop.abort()
  expect(await compressing).toMatchObject({ ok: true, value: { removedMessages: false, sessionId: id } })
  await runToEnd(session, "which colour?")
  expect([session.id, assembled.model.view(1).messages.length]).toEqual([id, 61])
})

test("a child session that cannot be stored: the conversation stays unchanged in its session", async () => {
  await using assembled = await assembleApp(withSummaries([says("Blue.")]), { config: LARGE_WINDOW })
  const id = await seedSession(assembled, talk(60, 400))
  const session = await assembled.open({ resume: id })
  const db = new DatabaseSync(join(assembled.home.path, "state.db"))
  db.exec(
    "CREATE TRIGGER broken BEFORE INSERT ON sessions WHEN NEW.parent_session_id IS NOT NULL BEGIN SELECT RAISE(ABORT, 'disk failed'); END",
  )
  db.close()
  const done = await session.compress({ focus: "colours", signal })
  expect(done).toMatchObject({
    ok: true,
    value: { removedMessages: false, sessionId: id, warning: "the compressed conversation could not be stored" },
  })
  const { end } = await runToEnd(session, "which colour?")
  expect([end.outcome, end.result.sessionId, assembled.model.view(1).messages.length]).toEqual(["completed", id, 61])
  expect((await (await assembled.app.store()).session(id))?.endReason).toBeNull()
})

test("while another process compresses, nothing is done after ten seconds of waiting", async () => {
  let now = Date.now()
  const clock: Clock = {
    now: () => now,
    sleep: (ms) => {
      now += ms
      return Promise.resolve()
    },
  }
  await using assembled = await assembleApp(withSummaries([says("Blue.")]), { config: LARGE_WINDOW, clock })
  const id = await seedSession(assembled, talk(60, 400))
  const session = await assembled.open({ resume: id })
  expect(await (await assembled.app.store()).tryLockCompression(id, "elsewhere:1:abc")).toBe(true)
  const started = now
  const done = await session.compress({ focus: "colours", signal })
  expect(done).toMatchObject({
    ok: true,
    value: { layersRun: [], warning: "another process is compressing this conversation" },
  })
  expect([now - started >= 10_000, now - started < 11_000, assembled.model.requests.length]).toEqual([true, true, 0])
})

test("a history with replies in a row, as two processes or the Python edition store it, is compressed like any other", async () => {
  const twice: Message = { role: "assistant", content: "Said by two processes." }
  const call: Message = {
    role: "assistant",
    content: null,
    tool_calls: [{ id: "late", type: "function", function: { name: "terminal", arguments: '{"command":"true"}' } }],
  }
  const result: Message = { role: "tool", tool_call_id: "late", tool_name: "terminal", content: "done" }
  const stored = [
    ...talk(2, 40),
    twice,
    ...talk(360, 1100),
    call,
    { role: "user", content: "a message of another process" } as const,
    result,
    { ...twice },
    { ...twice },
  ]
  await using assembled = await assembleApp(withSummaries([says("One."), says("Two.")]), { config: LARGE_WINDOW })
  const session = await assembled.open({ resume: await seedSession(assembled, stored) })
  const record = await runToEnd(session, "one")
  expect([record.end.outcome, rotations(record).length]).toEqual(["completed", 1])
  expect(wireProblems(assembled.model, assembled.model.requests.length - 1)).toEqual([])
  expect((await runToEnd(session, "two")).end.outcome).toBe("completed")
  await session.close("test")
})

test("the task list survives a compression and a resume", async () => {
  const todos = [
    { id: "1", content: "sand the door", status: "completed" },
    { id: "2", content: "paint the door", status: "in_progress" },
    { id: "3", content: "paint the frame", status: "pending" },
  ]
  await using assembled = await assembleApp(
    withSummaries([callsTool("todo", { todos }), says("Planned."), ...talking(20), says("On it."), says("Bye.")]),
    { config: LARGE_WINDOW },
  )
  const session = await assembled.open()
  const first = session.id
  for (let turn = 0; turn < 21; turn += 1) await runToEnd(session, `step ${turn} ${"x".repeat(300)}`)
  expect(session.todo()).toEqual(todos)
  const done = await session.compress({ focus: "the frame", signal })
  expect(done).toMatchObject({ ok: true, value: { removedMessages: true } })
  expect(session.todo()).toEqual(todos)

  await runToEnd(session, "go on")
  const sent = assembled.model
    .view(assembled.model.requests.length - 1)
    .messages.map(({ text }) => text)
    .join("\n")
  expect(sent).toContain("- [>] 2. paint the door (in_progress)\n- [ ] 3. paint the frame (pending)")
  expect(sent).not.toContain("sand the door")

  await session.close("test")
  const later = await assembled.restart()
  const resumed = await later.open({ resume: session.id })
  expect([session.id === first, resumed.todo().map(({ id, status }) => [id, status])]).toEqual([
    false,
    [
      ["2", "in_progress"],
      ["3", "pending"],
    ],
  ])
  await later[Symbol.asyncDispose]()
})

test("a resumed session restores its task list from the last result of the tool", async () => {
  const todos = [{ id: "a", content: "paint", status: "pending" }]
  await using assembled = await assembleApp([callsTool("todo", { todos }), says("Planned.")])
  const session = await assembled.open()
  await runToEnd(session, "plan")
  await session.close("test")
  const later = await assembled.restart()
  expect((await later.open({ resume: session.id })).todo()).toEqual(todos)
  await later[Symbol.asyncDispose]()
})

test("before a summary the model may save to memory, in one auxiliary call", async () => {
  const saves = reply({
    calls: [{ name: "memory", input: { action: "add", target: "user", content: "Likes blue doors." } }],
  })
  const flushes: string[] = []
  await using assembled = await assembleApp(
    [
      repeat((request) => {
        if (isSummaryRequest(request)) return says(SUMMARY)
        if (!request.rawBody.includes("You keep the memory of an assistant")) return says("Fine.")
        flushes.push(request.rawBody)
        return saves
      }),
    ],
    { config: `${LARGE_WINDOW}memory:\n  flush_min_turns: 3\n` },
  )
  const session = await assembled.open()
  for (let turn = 0; turn < 20; turn += 1) await runToEnd(session, `${turn} I like blue doors ${"x".repeat(400)}`)
  const done = await session.compress({ focus: "doors", signal })
  expect(done).toMatchObject({ ok: true, value: { removedMessages: true } })
  expect(flushes).toHaveLength(1)
  expect(await readFile(`${assembled.home.path}/memories/USER.md`, "utf8")).toBe("Likes blue doors.")
  // The prompt of the child session is rebuilt and contains it.
  await runToEnd(session, "thanks")
  expect(assembled.model.view(assembled.model.requests.length - 1).system).toContain("Likes blue doors.")
})

test("from the second compression on, a warning says that details are lost", async () => {
  await using assembled = await assembleApp(
    withSummaries([refuses(400, "Error"), says("One."), refuses(400, "prompt is too long"), says("Two.")]),
    { config: LARGE_WINDOW },
  )
  const session = await assembled.open({ resume: await seedSession(assembled, talk(360, 1000)) })
  const first = await runToEnd(session, "one")
  const second = await runToEnd(session, "two")
  expect(
    [first, second].map((record) => warnings(record).filter((text) => text.includes("more than once")).length),
  ).toEqual([0, 1])
})

function talking(count: number): readonly Turn[] {
  return Array.from({ length: count }, (_, index) => says(`Answer ${index} ${"y".repeat(300)}`))
}
