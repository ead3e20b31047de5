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

const SUMMARY = "## Active Task\nPaint the door.\n\n## Goal\nA blue house."

/** The side job of writing a summary goes to the same server; it is known by its instructions. */
function isSummaryRequest({ rawBody }: RecordedRequest): boolean {
  return rawBody.includes("You write context checkpoints")
}

/** Answers side jobs with `summary` and everything else with the turns, in order. */
function besidesSummaries(turns: readonly Turn[], summary: Turn = says(SUMMARY)): readonly ScriptEntry[] {
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

async function storedWords(house: AssembledApp, id: Awaited<ReturnType<typeof seedSession>>): Promise<string> {
  return JSON.stringify(await (await house.app.store()).conversation(id))
}

const bigRead = (id: string): readonly Message[] =>
  toolRound([{ id, result: JSON.stringify({ content: `${id}: ${"line of the file\n".repeat(7000)}` }) }])

test("a bare 400 with a long history: large results are cut, the request is repeated smaller, the session stays", async () => {
  await using house = await assembleApp([refuses(400, "Error"), says("It is blue."), says("Bye.")], {
    config: LARGE_WINDOW,
  })
  const history = [user("read them"), ...bigRead("a"), ...bigRead("b"), ...bigRead("c"), ...talk(2, 40).slice(1)]
  const id = await seedSession(house, history)
  const session = await house.open({ resume: id })
  const record = await runToEnd(session, "which colour?")

  expect([record.end.outcome, record.end.result.finalResponse, rotations(record)]).toEqual([
    "completed",
    "It is blue.",
    [],
  ])
  expect([session.id, record.end.result.sessionId]).toEqual([id, id])
  const [first, second] = house.model.requests.map(({ rawBody }) => rawBody.length)
  expect(first).toBeGreaterThan(340_000)
  expect(second).toBeLessThan((first ?? 0) * 0.8)
  // The whole text is where the shortened result says, and the store keeps what it had.
  const cut = house.model.view(1).messages.flatMap((message) => message.results.map(({ text }) => text))
  const path = /\/[^\s"\\]+\.txt/.exec(cut.find((text) => text.includes(".txt")) ?? "")?.[0] ?? ""
  expect(await readFile(path, "utf8")).toContain("line of the file")
  expect((await storedWords(house, id)).length).toBeGreaterThan(340_000)

  // A resumed session sends the shortened form again, byte for byte.
  await session.close("test")
  const later = await house.restart()
  await runToEnd(await later.open({ resume: id }), "bye")
  await later[Symbol.asyncDispose]()
  const [, answered, resumed] = house.model.requests
  expect(resumed?.rawBody.startsWith(answered?.rawBody.slice(0, -"]}".length) ?? "?")).toBe(true)
})

test("a bare 400 with a long history of words: rounds are left out, and the conversation goes on in a child", async () => {
  await using house = await assembleApp(besidesSummaries([refuses(400, "Error"), says("Blue."), says("Bye.")]), {
    config: LARGE_WINDOW,
  })
  const id = await seedSession(house, talk(360, 1000))
  const session = await house.open({ resume: id })
  const record = await runToEnd(session, "which colour?")

  expect([record.end.outcome, record.end.result.finalResponse]).toEqual(["completed", "Blue."])
  expect(rotations(record)).toEqual([[id, session.id]])
  expect([record.events[0]?.sessionId, record.events.at(-1)?.sessionId]).toEqual([id, session.id])
  expect(session.id).not.toBe(id)
  const main = house.model.requests.filter((request) => !isSummaryRequest(request))
  expect(main[1]?.rawBody.length).toBeLessThan((main[0]?.rawBody.length ?? 0) * 0.8)
  const index = house.model.requests.lastIndexOf(main[1] as RecordedRequest)
  expect([house.model.view(index).messages.at(-1)?.text, wireProblems(house.model, index)]).toEqual([
    "which colour?",
    [],
  ])

  const store = await house.app.store()
  const [parent, child] = [await store.session(id), await store.session(session.id)]
  expect([parent?.endReason, child?.parent, child?.title]).toEqual(["compression", id, "Seeded #2"])
  expect(isValidHistory(await store.conversation(session.id))).toBe(true)
  expect(await store.conversation(id)).toHaveLength(361)

  // The child is resumed like any session, with the same bytes.
  await session.close("test")
  const later = await house.restart()
  await runToEnd(await later.open({ resume: session.id }), "bye")
  await later[Symbol.asyncDispose]()
  const resumed = house.model.requests.at(-1)?.rawBody ?? ""
  expect(resumed.startsWith(main[1]?.rawBody.slice(0, -"]}".length) ?? "?")).toBe(true)
})

test("a conversation that cannot be made shorter ends with a sentence that names the way out", async () => {
  const tooLong = refuses(400, "maximum context length is 8192 tokens, you requested 99999 tokens")
  await using house = await assembleApp([repeat(tooLong)])
  const { end } = await runToEnd(await house.open(), "x".repeat(100_000))
  expect([end.outcome, end.result.error?.code]).toEqual(["error", "compression_exhausted"])
  expect(end.result.error?.message).toMatch(/take your last message back with \/undo, or start a new one with \/new/)
})

test("compression.enabled false: nothing is shortened, and an overflow ends the turn with compaction_disabled", async () => {
  const tooLong = refuses(400, "maximum context length is 8192 tokens, you requested 9000 tokens")
  await using house = await assembleApp([tooLong, says("never")], { config: "compression:\n  enabled: false\n" })
  const id = await seedSession(house, talk(60, 800))
  const { end } = await runToEnd(await house.open({ resume: id }), "go on")
  expect([end.outcome, end.result.error?.code, end.result.sessionId, house.model.requests.length]).toEqual([
    "error",
    "compaction_disabled",
    id,
    1,
  ])
  expect(end.result.error?.message).toContain("compression.enabled")
})

test("a conversation over the threshold is made shorter before the turn is sent", async () => {
  await using house = await assembleApp(besidesSummaries([says("Fine.")]), { config: "  context_length: 32000\n" })
  const id = await seedSession(house, talk(140, 1000))
  const session = await house.open({ resume: id })
  const record = await runToEnd(session, "go on")
  expect([record.end.outcome, rotations(record).length]).toEqual(["completed", 1])
  const sent = house.model.requests.find((request) => !isSummaryRequest(request))
  expect((sent?.rawBody.length ?? 0) / 4).toBeLessThan(27_200)
  expect(sent?.rawBody).toContain("session_search with session_id")
})

test("/compress with a topic writes a summary, tells what it saved, and goes on in a child session", async () => {
  await using house = await assembleApp(besidesSummaries([says("Blue.")]), { config: LARGE_WINDOW })
  const id = await seedSession(house, talk(60, 400))
  const session = await house.open({ resume: id })
  const done = await session.compress({ focus: "the colour of the door", signal })
  if (!done.ok) throw new Error(done.error)
  expect(done.value).toMatchObject({ layersRun: [5], removedMessages: true, sessionId: session.id })
  expect([done.value.tokensAfter < done.value.tokensBefore, session.id === id]).toEqual([true, false])
  const asked = house.model
    .view(0)
    .messages.map(({ text }) => text)
    .join("\n")
  expect([asked.includes("the colour of the door"), asked.includes("## Plan Decisions")]).toEqual([true, true])

  await runToEnd(session, "which colour?")
  const words = house.model.view(1).messages.map(({ text }) => text)
  const carrier = words.find((text) => text.includes("[CONTEXT COMPACTION — REFERENCE ONLY]")) ?? ""
  expect(carrier).toContain("A blue house.")
  expect(carrier).toContain("--- END OF CONTEXT SUMMARY — respond to the message below, not the summary above ---")
  expect([words.at(-1), wireProblems(house.model, 1)]).toEqual(["which colour?", []])
})

test("a summariser that fails is replaced by a summary made from the messages themselves", async () => {
  await using house = await assembleApp(besidesSummaries([says("Blue.")], refuses(401, "no summaries for you")), {
    config: LARGE_WINDOW,
  })
  const id = await seedSession(house, [user("paint the door blue"), ...talk(60, 400).slice(1)])
  const session = await house.open({ resume: id })
  const done = await session.compress({ focus: "colours", signal })
  if (!done.ok) throw new Error(done.error)
  expect(done.value).toMatchObject({ layersRun: [5], removedMessages: true })
  expect(done.value.warning).toMatch(/^the summary could not be made by a model: /)
  await runToEnd(session, "which colour?")
  const { messages } = house.model.view(house.model.requests.length - 1)
  const carrier = messages.find(({ text }) => text.includes("[CONTEXT COMPACTION — REFERENCE ONLY]"))?.text ?? ""
  for (const heading of ["## Active Task", "## Completed Actions", "## Plan Decisions"])
    expect(carrier).toContain(heading)
  expect(carrier).toMatch(/incomplete/i)
})

test("abort_on_summary_failure keeps the conversation as it is", async () => {
  await using house = await assembleApp(besidesSummaries([says("Blue.")], refuses(401, "no")), {
    config: `${LARGE_WINDOW}compression:\n  abort_on_summary_failure: true\n`,
  })
  const id = await seedSession(house, talk(60, 400))
  const session = await house.open({ resume: id })
  const done = await session.compress({ focus: "colours", signal })
  expect(done).toMatchObject({ ok: true, value: { layersRun: [], removedMessages: false, sessionId: id } })
  await runToEnd(session, "which colour?")
  expect(house.model.view(house.model.requests.length - 1).messages).toHaveLength(61)
})

test("the model that is set up for summaries writes them; when it fails the conversation's model does, and the person is told", async () => {
  await using side = await startModelServer([refuses(401, "expired"), refuses(401, "expired")])
  await using house = await assembleApp(besidesSummaries([says("Blue.")]), {
    config: `${LARGE_WINDOW}auxiliary:\n  compression:\n    provider: custom\n    model: small\n    base_url: ${side.url}/v1\n`,
  })
  const id = await seedSession(house, talk(60, 400))
  const session = await house.open({ resume: id })
  const done = await session.compress({ focus: "colours", signal })
  if (!done.ok) throw new Error(done.error)
  expect([side.requests.length > 0, house.model.requests.length, done.value.layersRun]).toEqual([true, 1, [5]])
  expect(done.value.warning).toContain("auxiliary.compression")
})

test("an interrupt while the summary is written leaves everything as it was", async () => {
  const never = new Promise<void>(() => undefined)
  const summary = { ...says(SUMMARY), waitsFor: never }
  await using house = await assembleApp(besidesSummaries([says("Fine.")], summary), { config: LARGE_WINDOW })
  const id = await seedSession(house, talk(60, 400))
  const session = await house.open({ resume: id })
  const stop = new AbortController()
  const compressing = session.compress({ focus: "colours", signal: stop.signal })
  await house.model.received(0)
  await expect(runToEnd(session, "now?")).rejects.toThrow("this session is answering already")
  stop.abort()
  expect(await compressing).toMatchObject({ ok: true, value: { removedMessages: false, sessionId: id } })
  await runToEnd(session, "which colour?")
  expect([session.id, house.model.view(1).messages.length]).toEqual([id, 61])
})

test("a child session that cannot be stored: the conversation stays whole, in the session it is in", async () => {
  await using house = await assembleApp(besidesSummaries([says("Blue.")]), { config: LARGE_WINDOW })
  const id = await seedSession(house, talk(60, 400))
  const session = await house.open({ resume: id })
  const db = new DatabaseSync(join(house.home.path, "state.db"))
  db.exec(
    "CREATE TRIGGER broken BEFORE INSERT ON sessions WHEN NEW.parent_session_id IS NOT NULL BEGIN SELECT RAISE(ABORT, 'disk failed'); END",
  )
  db.close()
  const done = await session.compress({ focus: "colours", signal })
  expect(done).toMatchObject({
    ok: true,
    value: { removedMessages: false, sessionId: id, warning: "the shorter conversation could not be stored" },
  })
  const { end } = await runToEnd(session, "which colour?")
  expect([end.outcome, end.result.sessionId, house.model.view(1).messages.length]).toEqual(["completed", id, 61])
  expect((await (await house.app.store()).session(id))?.endReason).toBeNull()
})

test("another process that is at it keeps its turn; after ten seconds nothing is done", async () => {
  let now = Date.now()
  const clock: Clock = {
    now: () => now,
    sleep: (ms) => {
      now += ms
      return Promise.resolve()
    },
  }
  await using house = await assembleApp(besidesSummaries([says("Blue.")]), { config: LARGE_WINDOW, clock })
  const id = await seedSession(house, talk(60, 400))
  const session = await house.open({ resume: id })
  expect(await (await house.app.store()).tryLockCompression(id, "elsewhere:1:abc")).toBe(true)
  const started = now
  const done = await session.compress({ focus: "colours", signal })
  expect(done).toMatchObject({
    ok: true,
    value: { layersRun: [], warning: "another process is shortening this conversation" },
  })
  expect([now - started >= 10_000, now - started < 11_000, house.model.requests.length]).toEqual([true, true, 0])
})

test("the task list survives a compression and a resume", async () => {
  const todos = [
    { id: "1", content: "sand the door", status: "completed" },
    { id: "2", content: "paint the door", status: "in_progress" },
    { id: "3", content: "paint the frame", status: "pending" },
  ]
  await using house = await assembleApp(
    besidesSummaries([callsTool("todo", { todos }), says("Planned."), ...talking(20), says("On it."), says("Bye.")]),
    { config: LARGE_WINDOW },
  )
  const session = await house.open()
  const first = session.id
  for (let turn = 0; turn < 21; turn += 1) await runToEnd(session, `step ${turn} ${"x".repeat(300)}`)
  expect(session.todo()).toEqual(todos)
  const done = await session.compress({ focus: "the frame", signal })
  expect(done).toMatchObject({ ok: true, value: { removedMessages: true } })
  expect(session.todo()).toEqual(todos)

  await runToEnd(session, "go on")
  const sent = house.model
    .view(house.model.requests.length - 1)
    .messages.map(({ text }) => text)
    .join("\n")
  expect(sent).toContain("- [>] 2. paint the door (in_progress)\n- [ ] 3. paint the frame (pending)")
  expect(sent).not.toContain("sand the door")

  await session.close("test")
  const later = await house.restart()
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

test("a resumed session knows its task list from the last result of the tool", async () => {
  const todos = [{ id: "a", content: "paint", status: "pending" }]
  await using house = await assembleApp([callsTool("todo", { todos }), says("Planned.")])
  const session = await house.open()
  await runToEnd(session, "plan")
  await session.close("test")
  const later = await house.restart()
  expect((await later.open({ resume: session.id })).todo()).toEqual(todos)
  await later[Symbol.asyncDispose]()
})

test("before a summary the model may save what belongs into memory, in one call beside the conversation", async () => {
  const saves = reply({
    calls: [{ name: "memory", input: { action: "add", target: "user", content: "Likes blue doors." } }],
  })
  const flushes: string[] = []
  await using house = await assembleApp(
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
  const session = await house.open()
  for (let turn = 0; turn < 20; turn += 1) await runToEnd(session, `${turn} I like blue doors ${"x".repeat(400)}`)
  const done = await session.compress({ focus: "doors", signal })
  expect(done).toMatchObject({ ok: true, value: { removedMessages: true } })
  expect(flushes).toHaveLength(1)
  expect(await readFile(`${house.home.path}/memories/USER.md`, "utf8")).toBe("Likes blue doors.")
  // The prompt of the child session is built anew and has it already.
  await runToEnd(session, "thanks")
  expect(house.model.view(house.model.requests.length - 1).system).toContain("Likes blue doors.")
})

test("from the second compression on the person is told that details get lost", async () => {
  await using house = await assembleApp(
    besidesSummaries([refuses(400, "Error"), says("One."), refuses(400, "Error"), says("Two.")]),
    {
      config: LARGE_WINDOW,
    },
  )
  const session = await house.open({ resume: await seedSession(house, talk(360, 1000)) })
  const first = await runToEnd(session, "one")
  const second = await runToEnd(session, "two")
  expect(
    [first, second].map((record) => warnings(record).filter((text) => text.includes("more than once")).length),
  ).toEqual([0, 1])
})

function talking(count: number): readonly Turn[] {
  return Array.from({ length: count }, (_, index) => says(`Answer ${index} ${"y".repeat(300)}`))
}
