import { mkdirSync, readdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { expect, test } from "vitest"
import { NOW, session, sessionId, temporaryStore } from "../../../test/fixtures/state/temporary-store.ts"
import type { TemporaryStore } from "../../../test/fixtures/state/temporary-store.ts"

const DAY = 86_400

function everyId(t: TemporaryStore): string[] {
  return t.raw((db) =>
    db
      .prepare("SELECT id FROM sessions ORDER BY id")
      .all()
      .map((row) => String(row["id"])),
  )
}

test("deleting a session deletes its delegates, detaches other children and removes it from search", async () => {
  await using t = await temporaryStore()
  await t.store.createSession(session("deleted"))
  await t.store.createSession(session("helper", { parent: sessionId("deleted") }))
  await t.store.createSession(session("helper-of-helper", { parent: sessionId("helper") }))
  await t.store.append(sessionId("deleted"), [{ role: "user", content: "needle" }])
  await t.store.append(sessionId("helper"), [{ role: "user", content: "needle" }])
  await t.store.branch(sessionId("deleted"), session("fork"), {})
  expect(await t.store.deleteSession(sessionId("deleted"))).toBe(true)
  expect(everyId(t)).toEqual(["fork"])
  expect((await t.store.session(sessionId("fork")))?.parent).toBeNull()
  expect((await t.store.search("needle")).map((hit) => hit.sessionId)).toEqual(["fork"])
  const counts = t.raw((db) => ({
    ...db
      .prepare(
        `SELECT (SELECT count(*) FROM messages) AS messages, (SELECT count(*) FROM messages_fts) AS words,
           (SELECT count(*) FROM messages_fts_trigram) AS trigrams, (SELECT count(*) FROM session_activity) AS activity`,
      )
      .get(),
  }))
  expect(counts).toEqual({ messages: 1, words: 1, trigrams: 1, activity: 1 })
  expect(await t.store.deleteSession(sessionId("deleted"))).toBe(false)
})

test("the files of a deleted session are deleted, those of others stay", async () => {
  await using t = await temporaryStore()
  const directory = join(t.directory, "sessions")
  mkdirSync(directory)
  const kept = ["20270101_ab.json", "request_dump_20270101_ab_1.json", "sessions.json", "20270101_a"]
  const removed = [
    "20270101_a.json",
    "20270101_a.jsonl",
    "request_dump_20270101_a_1.json",
    "request_dump_20270101_a_2_x.json",
  ]
  for (const name of [...kept, ...removed]) writeFileSync(join(directory, name), "{}")
  await t.store.createSession(session("20270101_a"))
  await t.store.deleteSession(sessionId("20270101_a"))
  expect(readdirSync(directory).toSorted()).toEqual(kept.toSorted())
})

test("an empty session is deleted only while it is empty", async () => {
  await using t = await temporaryStore()
  for (const id of ["empty", "titled", "used", "parent"]) await t.store.createSession(session(id))
  await t.store.createSession(session("child", { parent: sessionId("parent") }))
  await t.store.setTitle(sessionId("titled"), "t")
  await t.store.append(sessionId("used"), [{ role: "user", content: "x" }])
  const deleted = []
  for (const id of ["empty", "titled", "used", "parent", "missing"])
    deleted.push(await t.store.deleteIfEmpty(sessionId(id)))
  expect(deleted).toEqual([true, false, false, false, false])
})

test("the sweep deletes old empty terminal UI sessions and ends unused continuations", async () => {
  await using t = await temporaryStore()
  const old = NOW - 2 * DAY
  await t.store.createSession(session("old-tui", { source: "tui", startedAt: old }))
  await t.store.createSession(session("new-tui", { source: "tui", startedAt: NOW - 3600 }))
  await t.store.createSession(session("old-cli", { startedAt: old }))
  for (const [parent, child] of [
    ["p1", "orphan"],
    ["p2", "used"],
  ] as const) {
    await t.store.createSession(session(parent, { startedAt: NOW - 20 * DAY }))
    t.clock.seconds = NOW - 8 * DAY
    await t.store.rotate(sessionId(parent), session(child))
  }
  await t.store.addTotals(sessionId("used"), {
    usage: { input: 1, output: 0, cacheRead: 0, cacheWrite: 0, reasoning: 0 },
    apiCalls: 1,
  })
  t.clock.seconds = NOW
  await t.store.sweep()
  expect(everyId(t)).toEqual(["new-tui", "old-cli", "orphan", "p1", "p2", "used"])
  expect(await t.store.session(sessionId("orphan"))).toMatchObject({ endedAt: NOW, endReason: "orphaned_compression" })
  expect(await t.store.session(sessionId("used"))).toMatchObject({ endedAt: null })
})

async function prunable(t: TemporaryStore): Promise<void> {
  const add = async (id: string, days: number, more: object = {}): Promise<void> => {
    await t.store.createSession(session(id, { startedAt: NOW - days * DAY, ...more }))
  }
  await add("old-ended", 100)
  await add("old-open", 100)
  await add("young-ended", 10)
  await add("old-telegram", 100, { source: "telegram" })
  for (const id of ["old-ended", "young-ended", "old-telegram"]) await t.store.endSession(sessionId(id), "cli_close")
  // A compressed conversation that is still open, and one that has ended.
  await add("live-root", 200)
  t.clock.seconds = NOW - 150 * DAY
  await t.store.rotate(sessionId("live-root"), session("live-tip"))
  await add("dead-root", 200)
  await t.store.rotate(sessionId("dead-root"), session("dead-tip"))
  await t.store.endSession(sessionId("dead-tip"), "cli_close")
  await t.store.branch(sessionId("old-ended"), session("fork"), {})
  t.clock.seconds = NOW
}

test("prune deletes old ended sessions, and compressed conversations only as a whole", async () => {
  await using t = await temporaryStore()
  await prunable(t)
  const expected = ["dead-root", "dead-tip", "old-ended", "old-telegram"]
  expect([...(await t.store.prune({ olderThanDays: 90, dryRun: true }))].toSorted()).toEqual(expected)
  expect(await t.store.prune({ olderThanDays: 90, source: "telegram" })).toEqual(["old-telegram"])
  expect([...(await t.store.prune({ olderThanDays: 90 }))].toSorted()).toEqual(expected.slice(0, 3))
  expect(everyId(t)).toEqual(["fork", "live-root", "live-tip", "old-open", "young-ended"])
  expect((await t.store.session(sessionId("fork")))?.parent).toBeNull()
})

test("auto-prune respects its interval and records the attempt", async () => {
  await using t = await temporaryStore()
  await prunable(t)
  const options = { olderThanDays: 90, minIntervalHours: 24, vacuum: true }
  expect(await t.store.autoPrune(options)).toEqual({ kind: "pruned", sessions: 4 })
  expect(await t.store.meta.get("last_auto_prune")).toBe(String(NOW))
  expect(await t.store.autoPrune(options)).toEqual({ kind: "not-due" })
  t.clock.seconds += 25 * 3600
  expect(await t.store.autoPrune(options)).toEqual({ kind: "pruned", sessions: 0 })
  expect(await t.store.meta.get("last_auto_prune")).toBe(String(NOW + 25 * 3600))
})

test("auto-prune never throws", async () => {
  await using t = await temporaryStore()
  await t.store.close()
  expect(await t.store.autoPrune({ olderThanDays: 1, minIntervalHours: 1, vacuum: false })).toEqual({
    kind: "failed",
    message: "The session database is closed.",
  })
})

test("an export contains every column and decoded messages", async () => {
  await using t = await temporaryStore()
  await t.store.createSession(session("a", { modelConfig: { max_iterations: 9 } }))
  const call = { id: "c", type: "function", function: { name: "t", arguments: "{}" } } as const
  await t.store.append(sessionId("a"), [
    { role: "user", content: [{ type: "text", text: "图" }], injected: "note", timestamp: NOW },
    { role: "assistant", content: "x", tool_calls: [call], reasoning_details: [{ s: 1 }], timestamp: NOW },
  ])
  const exported = await t.store.exportSession(sessionId("a"))
  expect(exported).toMatchObject({ id: "a", source: "cli", model_config: '{"max_iterations":9}', message_count: 2 })
  expect(exported?.["messages"]).toMatchObject([
    { id: 1, role: "user", content: [{ type: "text", text: "图" }], tool_calls: null, extra: { injected: "note" } },
    { id: 2, role: "assistant", content: "x", tool_calls: [call], reasoning_details: [{ s: 1 }], extra: null },
  ])
  expect(JSON.stringify(exported)).toContain("图")
  expect(await t.store.exportSession(sessionId("missing"))).toBeUndefined()
})

test("statistics count sessions, messages and sources", async () => {
  await using t = await temporaryStore()
  for (const [id, source] of [
    ["a", "cli"],
    ["b", "telegram"],
    ["c", "telegram"],
  ] as const) {
    await t.store.createSession(session(id, { source }))
  }
  await t.store.append(sessionId("a"), [{ role: "user", content: "x".repeat(2_000_000) }])
  await t.store.optimize()
  const stats = await t.store.stats()
  expect({ ...stats, sizeMb: stats.sizeMb > 1, walBytes: stats.walBytes }).toEqual({
    sessions: 3,
    messages: 1,
    bySource: [
      { source: "telegram", sessions: 2 },
      { source: "cli", sessions: 1 },
    ],
    sizeMb: true,
    walBytes: 0,
    schemaVersion: 16,
    search: "full",
  })
  expect(stats.sizeMb).toBe(Math.round(stats.sizeMb * 10) / 10)
})

test("pruning a long session leaves room for other processes to save", async () => {
  await using t = await temporaryStore()
  await t.store.startSession(
    session("old", { startedAt: NOW - 200 * 86_400 }),
    Array.from({ length: 1050 }, (_, index) => ({ role: "user", content: `message ${index}` })),
    "old",
  )
  await t.store.endSession(sessionId("old"), "user_exit")
  await t.store.startSession(session("open"), [{ role: "user", content: "hello" }], "open")
  const order: string[] = []
  await using other = await temporaryStore({ directory: t.directory })
  const append = async (): Promise<void> => {
    for (let index = 0; index < 3; index += 1) {
      await other.store.append(sessionId("open"), [{ role: "user", content: `saved ${index}` }])
      order.push("saved")
    }
  }
  const prune = async (): Promise<void> => {
    expect(await t.store.prune({ olderThanDays: 90 })).toEqual(["old"])
    order.push("pruned")
  }
  await Promise.all([prune(), append()])
  expect(order).toEqual(["saved", "saved", "saved", "pruned"])
  expect([await t.store.session(sessionId("old")), await t.store.search("message")]).toEqual([undefined, []])
})

test("a session that is reopened while it is pruned is left", async () => {
  await using t = await temporaryStore()
  const messages = Array.from({ length: 250 }, (_, index) => ({ role: "user", content: `m ${index}` }) as const)
  await t.store.startSession(session("old", { startedAt: NOW - 200 * 86_400 }), messages, "old")
  await t.store.endSession(sessionId("old"), "user_exit")
  const [deleted] = await Promise.all([
    t.store.prune({ olderThanDays: 90 }),
    (async () => {
      await new Promise((resolve) => setImmediate(resolve))
      await t.store.reopenSession(sessionId("old"))
    })(),
  ])
  expect(deleted).toEqual([])
  expect(await t.store.session(sessionId("old"))).toMatchObject({ id: "old", endedAt: null })
})
