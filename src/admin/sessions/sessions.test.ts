import { existsSync, mkdirSync, readdirSync, readFileSync, statSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, test } from "vitest"
import { createTestHomeContext, type TestHomeContext } from "../../../test/support/home-context.ts"
import { toSessionId } from "../../protocol/identifiers.ts"
import { openSqliteStore } from "../../state/sqlite/open-store.ts"
import { branchSession, deleteSession, renameSession, setSessionArchived } from "./change-session.ts"
import { exportSession, exportSessionLines, exportSessions, writeExportFile } from "./export-sessions.ts"
import { checkSessionDatabase, optimizeSessions, repairSessionDatabase } from "./maintain-sessions.ts"
import { pruneSessions, sessionStats } from "./maintain-sessions.ts"
import {
  countSessions,
  listSessions,
  readLineage,
  readSession,
  readTranscript,
  searchSessions,
} from "./read-sessions.ts"
import { withSessionStore } from "./session-store.ts"

const NOW = Date.now() / 1000
const signal = new AbortController().signal
const WORK = toSessionId("20260101_100000_aaaaaa")
const MUSIC = toSessionId("20260102_100000_bbbbbb")
const TOOL = toSessionId("20260103_100000_cccccc")
const JSONL = { kind: "jsonl" } as const
const TRAJECTORY = { kind: "trajectory" } as const
const ALL = { source: undefined, limit: 20, all: false }

/** A home with a titled session, one that ended 100 days ago, and one that a tool created. */
async function homeWithSessions(): Promise<TestHomeContext> {
  const context = createTestHomeContext()
  const { home, clock, log } = context
  const store = await openSqliteStore({ path: home.file("state.db"), clock, log })
  const add = async (id: typeof WORK, source: string, startedAt: number, texts: readonly string[]): Promise<void> => {
    await store.createSession({ id, source, startedAt })
    await store.append(
      id,
      texts.map((content) => ({ role: "user", content, timestamp: startedAt })),
    )
  }
  await add(WORK, "cli", NOW - 7200, ["Where is my passport?", "Here it is."])
  await add(MUSIC, "cli", NOW - 100 * 86_400, ["Play something by Bach"])
  await add(TOOL, "tool", NOW - 60, ["hidden passport job"])
  await store.setTitle(WORK, "Tax return 2025")
  await store.endSession(MUSIC, "done")
  await store.close()
  return context
}

test("operations on a home without a database find nothing and create none", async () => {
  using context = createTestHomeContext()
  const age = { olderThanDays: 1, source: undefined, dryRun: false }
  expect(await listSessions(context, ALL)).toEqual([])
  expect(await searchSessions(context, "x", { source: undefined })).toEqual([])
  expect(await readLineage(context, undefined)).toEqual([])
  expect(await countSessions(context)).toEqual({ kind: "counted", today: 0, total: 0 })
  expect(await readSession(context, "x")).toBeUndefined()
  expect(await readLineage(context, "x")).toBeUndefined()
  expect(await setSessionArchived(context, "x", true)).toBeUndefined()
  expect(await renameSession(context, "x", "y")).toEqual({ kind: "no-session" })
  expect(await deleteSession(context, WORK, { force: false })).toEqual({ kind: "no-session" })
  expect(await pruneSessions(context, age)).toBeUndefined()
  expect(await sessionStats(context)).toBeUndefined()
  expect(await optimizeSessions(context)).toBeUndefined()
  expect(await checkSessionDatabase(context)).toBeUndefined()
  expect(await repairSessionDatabase(context, { backup: true })).toBeUndefined()
  expect(await Array.fromAsync(exportSessions(context, { source: undefined, signal, format: JSONL }))).toEqual([])
  expect(existsSync(context.home.file("state.db"))).toBe(false)
})

test("sessions of tools are listed and searched only by their source", async () => {
  using context = await homeWithSessions()
  const ids = async (source?: string): Promise<readonly string[]> =>
    (await listSessions(context, { ...ALL, source })).map(({ id }) => id)
  const found = async (source?: string): Promise<readonly string[]> =>
    (await searchSessions(context, "passport", { source })).map(({ sessionId }) => sessionId)
  expect([await ids(), await ids("tool")]).toEqual([[WORK, MUSIC], [TOOL]])
  expect([await found(), await found("tool")]).toEqual([[WORK], [TOOL]])
})

test("a session is found by id, id prefix and title", async () => {
  using context = await homeWithSessions()
  for (const name of [WORK, WORK.slice(0, 12), "Tax return 2025"]) {
    expect((await readTranscript(context, name))?.messages.map(({ text }) => text)).toEqual([
      "Where is my passport?",
      "Here it is.",
    ])
    expect(await exportSession(context, name)).toMatchObject({ id: WORK })
  }
  expect(await readSession(context, "no such session")).toBeUndefined()
})

test("archived sessions are not listed until they are unarchived", async () => {
  using context = await homeWithSessions()
  const ids = async (): Promise<readonly string[]> => (await listSessions(context, ALL)).map(({ id }) => id)
  expect(await setSessionArchived(context, WORK, true)).toBe(WORK)
  expect(await ids()).toEqual([MUSIC])
  await setSessionArchived(context, WORK, false)
  expect(await ids()).toEqual([WORK, MUSIC])
})

test("a title must be free and short enough", async () => {
  using context = await homeWithSessions()
  expect(await renameSession(context, MUSIC, "Bach")).toEqual({ kind: "renamed", id: MUSIC, title: "Bach" })
  expect(await renameSession(context, MUSIC, "Tax return 2025")).toEqual({ kind: "taken", by: WORK })
  expect(await renameSession(context, MUSIC, "x".repeat(300))).toMatchObject({ kind: "too-long", length: 300 })
})

test("prune deletes ended sessions that are old enough; a dry run deletes nothing", async () => {
  using context = await homeWithSessions()
  const prune = (olderThanDays: number, dryRun: boolean): ReturnType<typeof pruneSessions> =>
    pruneSessions(context, { olderThanDays, source: undefined, dryRun })
  expect([await prune(200, false), await prune(90, true), await prune(90, false), await prune(90, false)]).toEqual([
    [],
    [MUSIC],
    [MUSIC],
    [],
  ])
})

test("a branch copies the messages up to the given one", async () => {
  using context = await homeWithSessions()
  const [first] = (await readTranscript(context, WORK))?.messages ?? []
  const branched = await branchSession(context, WORK, { title: "Side", upTo: first?.id })
  expect(branched).toMatchObject({ ok: true, value: { parent: WORK, title: "Side" } })
  expect((await readLineage(context, WORK))?.find(({ kind }) => kind === "branch")).toMatchObject({
    parent: WORK,
    title: "Side",
    messageCount: 1,
  })
  expect(await branchSession(context, WORK, { title: undefined, upTo: 999 })).toMatchObject({
    ok: false,
    error: { kind: "no-message", parent: WORK },
  })
})

describe("export", () => {
  test("writes one private file with a session per line", async () => {
    using context = await homeWithSessions()
    const path = join(context.directory, "all.jsonl")
    const sessions = exportSessions(context, { source: undefined, signal, format: JSONL })
    expect(await writeExportFile(path, sessions)).toEqual({ ok: true, value: 3 })
    expect(readFileSync(path, "utf8").trimEnd().split("\n")).toHaveLength(3)
    expect(statSync(path).mode & 0o777).toBe(0o600)
    expect(readdirSync(context.directory)).toEqual([".hermes", "all.jsonl"])
  })

  test("writes training data, without sessions that have no answer", async () => {
    using context = await homeWithSessions()
    const id = toSessionId("answered")
    await withSessionStore(context, async (store) => {
      const modelConfig = { declared_tools: ["todo", "gone"] }
      await store.createSession({ id, source: "cli", startedAt: NOW, model: "m", modelConfig })
      await store.append(id, [
        { role: "user", content: "Plan it.", timestamp: NOW },
        { role: "assistant", content: "Done.", reasoning: "hm", timestamp: NOW },
      ])
    })
    const lines = await Array.fromAsync(exportSessions(context, { source: undefined, signal, format: TRAJECTORY }))
    expect(lines.map((line) => JSON.parse(line))).toEqual([
      {
        conversations: [
          { from: "system", value: expect.stringMatching(/<tools>\n\[\{"name": "todo", [^\n]*\}\]\n<\/tools>/) },
          { from: "human", value: "Plan it." },
          { from: "gpt", value: "<think>\nhm\n</think>\nDone." },
        ],
        timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
        model: "m",
        completed: true,
      },
    ])
    expect(await exportSessionLines(context, "answered", TRAJECTORY)).toEqual(lines)
    expect(await exportSessionLines(context, WORK, TRAJECTORY)).toEqual([])
    expect(await exportSessionLines(context, "nothing", TRAJECTORY)).toBeUndefined()
  })

  test("leaves out undone messages unless they are wanted", async () => {
    using context = await homeWithSessions()
    await withSessionStore(context, async (store) => {
      const [, second] = await store.messages(WORK)
      await store.undoTo(WORK, second?.id ?? 0)
    })
    const contents = async (includeUndone: boolean) => {
      const lines = await exportSessionLines(context, WORK, { kind: "jsonl", includeUndone })
      const { messages } = JSON.parse(lines?.[0] ?? "") as { messages: { content: string; active: number }[] }
      return messages.map(({ content, active }) => [content, active])
    }
    expect(await contents(false)).toEqual([["Where is my passport?", 1]])
    expect(await contents(true)).toEqual([
      ["Where is my passport?", 1],
      ["Here it is.", 0],
    ])
    expect(await exportSession(context, WORK)).toMatchObject({ messages: [{ content: "Where is my passport?" }] })
  })

  test("an aborted export leaves no file", async () => {
    using context = await homeWithSessions()
    const sessions = exportSessions(context, { source: undefined, signal: AbortSignal.abort(), format: JSONL })
    await expect(writeExportFile(join(context.directory, "all.jsonl"), sessions)).rejects.toThrow()
    expect(readdirSync(context.directory)).toEqual([".hermes"])
  })

  test("reports a directory and a path that cannot be written", async () => {
    using context = createTestHomeContext()
    expect(await writeExportFile(context.directory, [])).toEqual({ ok: false, error: { kind: "is-directory" } })
    expect(await writeExportFile(join(context.directory, "missing", "x"), [])).toMatchObject({
      ok: false,
      error: { kind: "cannot-write" },
    })
  })
})

describe("damage", () => {
  test("a file that is not a database is replaced, kept under another name and reported", async () => {
    using context = createTestHomeContext({ "state.db": "this is not a database".repeat(100) })
    const notices: string[] = []
    expect(await checkSessionDatabase(context)).toMatchObject({ state: "damaged" })
    expect(await countSessions({ ...context, notify: (notice) => notices.push(notice) })).toMatchObject({ total: 0 })
    expect(notices).toEqual([expect.stringContaining("kept the damaged file as ")])
    expect(await checkSessionDatabase(context)).toMatchObject({ state: "healthy" })
  })

  test("a directory instead of the file is a store error", async () => {
    using context = createTestHomeContext()
    mkdirSync(context.home.file("state.db"))
    await expect(listSessions(context, ALL)).rejects.toMatchObject({ name: "StoreError" })
  })
})
