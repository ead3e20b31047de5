import { expect, test } from "vitest"
import { ELISION_NOTE_START } from "../../protocol/message.ts"
import { NOW, session, sessionId, temporaryStore } from "../../../test/fixtures/state/temporary-store.ts"
import type { TemporaryStore } from "../../../test/fixtures/state/temporary-store.ts"
import type { ListOptions } from "../store.ts"

async function ids(t: TemporaryStore, options: ListOptions = {}): Promise<string[]> {
  return (await t.store.list(options)).map((summary) => summary.id)
}

async function addMessage(t: TemporaryStore, id: string, at: number): Promise<void> {
  await t.store.append(sessionId(id), [{ role: "user", content: `message in ${id}`, timestamp: at }])
}

/** root → tip (compressed), fork (branch of tip), helper (delegate), plain, hidden (archived). */
async function family(t: TemporaryStore): Promise<void> {
  await t.store.createSession(session("root", { startedAt: NOW - 1000, model: "m1" }))
  await addMessage(t, "root", NOW - 900)
  await t.store.setTitle(sessionId("root"), "garden")
  t.clock.seconds = NOW - 800
  await t.store.rotate(sessionId("root"), session("tip", { model: "m2", cwd: "/w" }))
  await t.store.createSession(session("helper", { parent: sessionId("tip"), startedAt: NOW - 700 }))
  await addMessage(t, "helper", NOW + 500)
  await t.store.createSession(session("plain", { startedAt: NOW - 500, source: "telegram" }))
  await addMessage(t, "plain", NOW - 400)
  await addMessage(t, "tip", NOW - 100)
  t.clock.seconds = NOW - 50
  await t.store.branch(sessionId("tip"), session("fork"), {})
  await t.store.createSession(session("hidden", { startedAt: NOW - 20 }))
  await t.store.setArchived(sessionId("hidden"), true)
}

test("lists one row per conversation, without delegates and archived ones", async () => {
  await using t = await temporaryStore()
  await family(t)
  expect(await t.store.list()).toEqual([
    {
      id: "fork",
      lineageRoot: "fork",
      kind: "branch",
      source: "cli",
      title: "garden #3",
      preview: "message in tip",
      model: "m2",
      cwd: "/w",
      startedAt: NOW - 50,
      endedAt: null,
      lastActivity: NOW - 50,
      messageCount: 1,
      toolCallCount: 0,
    },
    {
      id: "tip",
      lineageRoot: "root",
      kind: "conversation",
      source: "cli",
      title: "garden #2",
      preview: "message in tip",
      model: "m2",
      cwd: "/w",
      startedAt: NOW - 1000,
      endedAt: NOW - 50,
      lastActivity: NOW - 100,
      messageCount: 1,
      toolCallCount: 0,
    },
    {
      id: "plain",
      lineageRoot: "plain",
      kind: "conversation",
      source: "telegram",
      title: null,
      preview: "message in plain",
      model: null,
      cwd: null,
      startedAt: NOW - 500,
      endedAt: null,
      lastActivity: NOW - 400,
      messageCount: 1,
      toolCallCount: 0,
    },
  ])
  expect(await t.store.count()).toBe(3)
  expect(await t.store.count({ source: "telegram" })).toBe(1)
})

test("sorts, pages and filters by source", async () => {
  await using t = await temporaryStore()
  await family(t)
  expect(await ids(t, { orderBy: "started" })).toEqual(["fork", "plain", "tip"])
  expect(await ids(t, { limit: 1, offset: 1 })).toEqual(["tip"])
  expect(await ids(t, { limit: 2, offset: 2 })).toEqual(["plain"])
  expect(await ids(t, { limit: 0 })).toEqual([])
  expect(await ids(t, { source: "telegram" })).toEqual(["plain"])
  expect(await ids(t, { excludeSources: ["telegram"] })).toEqual(["fork", "tip"])
  await addMessage(t, "plain", NOW + 1)
  expect(await ids(t)).toEqual(["plain", "fork", "tip"])
})

test("activity anywhere in a compression chain counts for the conversation", async () => {
  await using t = await temporaryStore()
  await family(t)
  await addMessage(t, "root", NOW + 5)
  const [first] = await t.store.list()
  expect(first).toMatchObject({ id: "tip", lineageRoot: "root", lastActivity: NOW + 5 })
})

test("`all` lists every session with its kind", async () => {
  await using t = await temporaryStore()
  await family(t)
  const rows = await t.store.list({ all: true, orderBy: "started" })
  expect(rows.map((row) => `${row.id}:${row.kind}`)).toEqual([
    "hidden:archived",
    "fork:branch",
    "plain:conversation",
    "helper:delegate",
    "tip:continuation",
    "root:conversation",
  ])
})

test("a branch stays visible after its parent was reopened and closed", async () => {
  await using t = await temporaryStore()
  await t.store.createSession(session("old"))
  await t.store.branch(sessionId("old"), session("fork"), {})
  await t.store.reopenSession(sessionId("old"))
  t.clock.seconds += 100
  await t.store.endSession(sessionId("old"), "cli_close")
  expect((await ids(t)).toSorted()).toEqual(["fork", "old"])
})

test("a branch of the Python edition without a marker is listed when its parent ended as branched", async () => {
  await using t = await temporaryStore()
  t.raw((db) =>
    db.exec(`INSERT INTO sessions(id, source, started_at, ended_at, end_reason, parent_session_id) VALUES
      ('old', 'cli', 1, 5, 'branched', NULL), ('fork', 'cli', 5, NULL, NULL, 'old'), ('early', 'cli', 3, NULL, NULL, 'old')`),
  )
  expect((await ids(t)).toSorted()).toEqual(["fork", "old"])
})

test.each([
  ["short\nand  sweet", "short and  sweet"],
  ["x".repeat(61), `${"x".repeat(60)}...`],
  ["🙂".repeat(61), `${"🙂".repeat(60)}...`],
  [[{ type: "image_url", image_url: { url: "u" } }], "[multimodal content]"],
  [[{ type: "text", text: "look" }], "look"],
] as const)("the preview of %j is %j", async (content, preview) => {
  await using t = await temporaryStore()
  await t.store.createSession(session("a"))
  await t.store.append(sessionId("a"), [
    { role: "assistant", content: "not this" },
    { role: "user", content },
  ])
  expect((await t.store.list())[0]?.preview).toBe(preview)
})

test("writes of another program are reflected in the order", async () => {
  await using t = await temporaryStore()
  await t.store.createSession(session("one", { startedAt: NOW }))
  t.raw((db) => {
    db.exec(`INSERT INTO sessions(id, source, started_at) VALUES ('two', 'cli', ${NOW + 1})`)
    db.exec(`INSERT INTO messages(session_id, role, content, timestamp) VALUES ('one', 'user', 'x', ${NOW + 2})`)
  })
  expect(await ids(t)).toEqual(["one", "two"])
  t.raw((db) => db.exec("DELETE FROM messages"))
  expect(await ids(t)).toEqual(["two", "one"])
})

test("latestSession returns the newest session of the last used conversation, ignoring empty ones", async () => {
  await using t = await temporaryStore()
  await family(t)
  await t.store.createSession(session("empty", { startedAt: NOW + 100 }))
  expect(await t.store.latestSession(["cli", "tui"])).toBe("fork")
  expect(await t.store.latestSession(["telegram"])).toBe("plain")
  expect(await t.store.latestSession(["discord"])).toBeUndefined()
})

test("latestSession in a directory goes by where a conversation was last used", async () => {
  await using t = await temporaryStore()
  for (const [index, cwd] of ["/a", "/b", "/a"].entries()) {
    const id = `s${index}`
    await t.store.createSession(session(id, { startedAt: NOW + index, cwd }))
    t.raw((db) =>
      db.exec(
        `INSERT INTO messages(session_id, role, content, timestamp) VALUES ('${id}', 'user', 'x', ${NOW + index})`,
      ),
    )
  }
  const latestIn = (directory: string) => t.store.latestSession(["cli"], (cwd) => cwd === directory)
  expect([await latestIn("/a"), await latestIn("/b"), await latestIn("/c")]).toEqual(["s2", "s1", undefined])
  await t.store.setDirectory(session("s2").id, "/b")
  expect([await latestIn("/a"), await latestIn("/b")]).toEqual(["s0", "s2"])
})

test("the preview of a compressed conversation has the words of the user, not the note before them", async () => {
  await using t = await temporaryStore()
  const words = "Read all parts of the project"
  await t.store.startSession(session("root"), [{ role: "user", content: words }], "talk")
  await t.store.rotate(sessionId("root"), session("tip", { startedAt: NOW + 1 }), [
    {
      role: "user",
      content: `${ELISION_NOTE_START} 9 earlier rounds]\n${"- Done: x\n".repeat(100)}[END OF NOTE]\n\n${words}`,
    },
  ])
  expect((await t.store.list({})).map(({ id, preview }) => [id, preview])).toEqual([["tip", words]])
})
