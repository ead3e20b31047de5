import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"

import { expect, test } from "vitest"

import type { RollbackReport } from "../../src/app/session/rollback.ts"
import type { Session } from "../../src/app/session/session.ts"
import type { SessionId } from "../../src/protocol/identifiers.ts"
import { callsTool, repeat, says } from "../support/model-server/turn.ts"
import type { Turn } from "../support/model-server/turn.ts"
import { assembleApp, runToEnd } from "./assembled-app.ts"
import type { AssembledApp } from "./assembled-app.ts"

const { signal } = new AbortController()
const WORK = { "package.json": "{}", "a.txt": "0" }

const writes = (text: string): readonly Turn[] => [
  callsTool("write_file", { path: "a.txt", content: text }),
  says(`Wrote ${text}.`),
]
const looks = (): readonly Turn[] => [callsTool("terminal", { command: "cat a.txt" }), says("Looked.")]

/** Rolls back to the snapshot with this number in the list. */
async function rollBack(session: Session, number: number): Promise<RollbackReport> {
  const checkpoints = await session.checkpoints()
  const hash = (await checkpoints?.list({ signal }))?.[number - 1]?.hash ?? "none"
  return await rollBackTo(session, hash)
}

async function rollBackTo(session: Session, hash: string): Promise<RollbackReport> {
  const restored = await session.rollBack({ hash, signal })
  if (!restored.ok) throw new Error(restored.error)
  return restored.value
}

function file({ home }: AssembledApp): string {
  return readFileSync(join(home.workdir, "a.txt"), "utf8")
}

/** The user's texts in the request with this index. */
function userTexts({ model }: AssembledApp, index: number): readonly string[] {
  return model
    .view(index)
    .messages.filter(({ role, text }) => role === "user" && text !== "")
    .map(({ text }) => text)
}

test.each([1, 2, 3])("rolling back to turn %i of three leaves the files and the messages before it", async (turn) => {
  await using assembled = await assembleApp([...writes("1"), ...writes("2"), ...writes("3"), says("Hello.")], {
    workFiles: WORK,
  })
  const session = await assembled.open()
  for (const text of ["one", "two", "three"]) await runToEnd(session, text)
  const report = await rollBack(session, 4 - turn)
  const texts = ["one", "two", "three"]
  expect([file(assembled), report.conversation]).toEqual([
    String(turn - 1),
    { kind: "removed", text: texts[turn - 1], images: [] },
  ])
  await runToEnd(session, "hello")
  expect(userTexts(assembled, 6)).toEqual([...texts.slice(0, turn - 1), "hello"])
})

test("undoing a restore brings the files back and changes no message; the model is informed", async () => {
  await using assembled = await assembleApp([...writes("1"), ...writes("2"), ...looks(), says("Hello.")], {
    workFiles: WORK,
  })
  const session = await assembled.open()
  for (const text of ["one", "two", "three"]) await runToEnd(session, text)
  const { undoHash } = await rollBack(session, 2)
  expect(file(assembled)).toBe("1")
  const undone = await rollBackTo(session, undoHash)
  expect([file(assembled), undone.conversation]).toEqual(["2", { kind: "restore-undone" }])
  await runToEnd(session, "hello")
  const texts = userTexts(assembled, 6)
  expect([texts[0], texts.length]).toEqual(["one", 2])
  expect(texts[1]).toMatch(/^hello\n[^]*restored an earlier state of these files[^]*a\.txt/u)
})

test("turns that change nothing share a snapshot; rolling back removes only the turn that changed something", async () => {
  await using assembled = await assembleApp([...looks(), ...looks(), ...writes("1"), says("Hello.")], {
    workFiles: WORK,
  })
  const session = await assembled.open()
  for (const text of ["look", "look again", "write"]) await runToEnd(session, text)
  expect((await rollBack(session, 1)).conversation).toEqual({ kind: "removed", text: "write", images: [] })
  await runToEnd(session, "hello")
  expect(userTexts(assembled, 6)).toEqual(["look", "look again", "hello"])
})

test("a resumed conversation rolls back to a turn of an earlier process", async () => {
  await using assembled = await assembleApp([...writes("1"), ...writes("2"), ...writes("3"), says("Hello.")], {
    workFiles: WORK,
  })
  const first = await assembled.open()
  await runToEnd(first, "one")
  await runToEnd(first, "two")
  const { id } = first
  await first.close("test")
  await using restarted = await assembled.restart()
  const session = await restarted.open({ resume: id })
  await runToEnd(session, "three")
  expect((await rollBack(session, 2)).conversation).toEqual({ kind: "removed", text: "two", images: [] })
  expect(file(assembled)).toBe("1")
  await runToEnd(session, "hello")
  expect(userTexts(assembled, 6)).toEqual(["one", "hello"])
})

test("two conversations in one directory: each removes only its own turns", async () => {
  await using assembled = await assembleApp(
    [...writes("1"), ...writes("2"), ...writes("3"), says("Hello A."), says("Hello B.")],
    { workFiles: WORK },
  )
  const a = await assembled.open()
  const b = await assembled.open()
  await runToEnd(a, "a one")
  await runToEnd(b, "b one")
  await runToEnd(a, "a two")
  // The snapshot before B's turn.
  const foreign = await rollBack(a, 2)
  expect([file(assembled), foreign.conversation]).toEqual(["1", { kind: "nothing" }])
  await runToEnd(a, "hello")
  const texts = userTexts(assembled, 6)
  expect(texts.slice(0, 2)).toEqual(["a one", "a two"])
  expect(texts[2]).toContain("restored an earlier state")
  expect((await rollBackTo(b, foreign.undoHash)).conversation).toEqual({ kind: "restore-undone" })
  expect((await rollBack(b, 4)).conversation).toEqual({ kind: "removed", text: "b one", images: [] })
})

test("after a compression, a turn that is still in the history is removed; one in the summary stays", async () => {
  const talk = (length: number): readonly Turn[] => Array.from({ length }, () => says("words ".repeat(1000)))
  const turns = [...talk(4), ...writes("1"), ...talk(30), ...writes("2")]
  await using assembled = await assembleApp(
    [
      repeat((request) =>
        request.rawBody.includes("You write context checkpoints")
          ? says("## Goal\nWrite numbers.")
          : (turns.shift() ?? says("Hello.")),
      ),
    ],
    {
      workFiles: WORK,
      config:
        "  context_length: 200000\nauxiliary:\n  title_generation:\n    provider: none\nmemory:\n  nudge_interval: 0\n",
    },
  )
  const session = await assembled.open()
  for (let count = 0; count < 36; count += 1)
    await runToEnd(session, count === 4 ? "middle" : count === 35 ? "last" : `talk ${count}`)
  const before: SessionId = session.id
  const named = (await session.checkpoints())?.named
  await named?.save("good", { includeConversation: true, signal })
  expect((await session.compress({ focus: "numbers", signal })).ok).toBe(true)
  expect(session.id).not.toBe(before)
  expect([(await rollBack(session, 1)).conversation, file(assembled)]).toEqual([
    { kind: "removed", text: "last", images: [] },
    "1",
  ])
  await runToEnd(session, "hello")
  const hello = userTexts(assembled, assembled.model.requests.length - 1)
  expect([hello.at(-1), hello.includes("last"), hello.includes("middle")]).toEqual(["hello", false, false])

  // The list now begins with the undo snapshot and the one of the last turn.
  expect([(await rollBack(session, 3)).conversation, file(assembled)]).toEqual([{ kind: "compressed" }, "0"])
  await runToEnd(session, "go on")
  const goOn = userTexts(assembled, assembled.model.requests.length - 1)
  expect(goOn.slice(0, -1)).toEqual(hello)
  expect(goOn.at(-1)).toMatch(/^go on\n[^]*restored an earlier state/u)

  // A checkpoint from before the compression restores the files, but not a conversation that is no longer the same.
  const restored = await named?.restore("good", { includeConversation: true, signal })
  expect(restored).toMatchObject({ ok: true, value: { conversationRestored: false } })
  expect(file(assembled)).toBe("2")
  const { id } = session
  await session.close("test")
  const resumed = await assembled.open({ resume: id })
  const names = (await resumed.checkpoints())?.named.list().map(({ name }) => name)
  expect(names?.toSorted()).toEqual(["good", "pre-restore"])
})

test("a snapshot of an older version changes no message", async () => {
  await using assembled = await assembleApp([...writes("1"), ...writes("2")], { workFiles: WORK })
  const session = await assembled.open()
  await runToEnd(session, "one")
  // Until its snapshots are complete, the record is still written.
  await (await session.checkpoints())?.list({ limit: 1, signal: new AbortController().signal })
  const project = join(assembled.home.path, "checkpoints", "store", "projects")
  const path = join(project, readdirSync(project)[0] ?? "")
  const record = JSON.parse(readFileSync(path, "utf8")) as { snapshots: unknown[][] }
  writeFileSync(path, JSON.stringify({ ...record, snapshots: record.snapshots.map((entry) => entry.slice(0, 2)) }))
  expect((await rollBack(session, 1)).conversation).toEqual({ kind: "unrecorded" })
  expect(file(assembled)).toBe("0")
})

test("where no snapshot can be taken, the user is asked once in a session; no keeps the call from running", async () => {
  await using assembled = await assembleApp([...writes("1"), ...writes("2"), ...writes("3")], { workFiles: WORK })
  writeFileSync(join(assembled.home.path, "checkpoints"), "not a directory")
  const session = await assembled.open()
  const asked: string[] = []
  const run = async (text: string, answer: string) =>
    await runToEnd(session, text, (event) => {
      if (event.type !== "clarify-request") return
      asked.push(event.question)
      session.answer(event.requestId, { kind: "clarify", text: answer })
    })
  await run("one", "No")
  expect([file(assembled), assembled.model.toolResults(1)[0]?.text]).toEqual([
    "0",
    expect.stringContaining("does not want to continue without undo"),
  ])
  await run("two", "Yes")
  await run("three", "Yes")
  expect([file(assembled), asked]).toEqual(["3", [QUESTION, QUESTION]])
})

const QUESTION = expect.stringMatching(
  /^No snapshot of \S+ could be taken: .*\. Changes there cannot be undone with \/rollback\. Continue without undo\?$/u,
) as string

test("where no user is present, the missing snapshot is a warning and a footer, once", async () => {
  await using assembled = await assembleApp([...writes("1"), ...writes("2")], { workFiles: WORK })
  writeFileSync(join(assembled.home.path, "checkpoints"), "not a directory")
  const session = await assembled.open({ attended: false })
  const first = await runToEnd(session, "one")
  const warnings = first.events.flatMap((event) =>
    event.type === "status" && event.kind === "warning" ? [event.text] : [],
  )
  expect(warnings).toEqual([expect.stringMatching(/^No snapshot of \S+ could be taken: /u)])
  expect([first.end.result.finalResponse, first.end.result.notes]).toEqual([
    "Wrote 1.",
    [expect.stringMatching(/^Note: No snapshot of \S+ could be taken: /u)],
  ])
  const second = await runToEnd(session, "two")
  expect([file(assembled), second.end.result.finalResponse, second.end.result.notes]).toEqual([
    "2",
    "Wrote 2.",
    undefined,
  ])
  rmSync(join(assembled.home.path, "checkpoints"))
})

test("where no snapshots are taken, the user hears of it before a change of files, not before a note in the memory", async () => {
  await using assembled = await assembleApp([
    callsTool("memory", { action: "add", target: "user", content: "Prefers short answers." }),
    says("Noted."),
    callsTool("terminal", { command: "true" }),
    says("Done."),
  ])
  const session = await assembled.open({ cwd: assembled.home.userHome })
  const told = async (text: string) =>
    (await runToEnd(session, text)).events.flatMap((event) =>
      event.type === "status" && event.text.includes("snapshot") ? [event.text] : [],
    )
  expect(await told("remember it")).toEqual([])
  expect(await told("run it")).toEqual([expect.stringContaining("Hermes takes no snapshots of") as string])
})
