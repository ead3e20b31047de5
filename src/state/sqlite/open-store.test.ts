import { mkdirSync, statSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { expect, test } from "vitest"
import {
  recordingLogger,
  session,
  sessionId,
  temporaryDirectory,
  temporaryStore,
  testClock,
} from "../../../test/fixtures/state/temporary-store.ts"
import { openSqliteStore } from "./open-store.ts"

test("a new database has schema version 16, full search and a write-ahead log", async () => {
  await using t = await temporaryStore()
  expect(t.store.info).toEqual({
    engine: "sqlite",
    location: t.path,
    schemaVersion: 16,
    search: "full",
    journalMode: "wal",
  })
})

test("an unchanged database opens while another process holds the write lock", async () => {
  using folder = temporaryDirectory()
  const path = join(folder.path, "state.db")
  {
    await using t = await temporaryStore({ directory: folder.path })
    await t.store.createSession(session("a"))
  }
  const holder = new DatabaseSync(path)
  holder.exec("BEGIN IMMEDIATE") // opening would fail if it had anything to write
  const store = await openSqliteStore({ path, clock: testClock(), log: recordingLogger() })
  expect((await store.list()).map((row) => row.id)).toEqual(["a"])
  await expect(store.createSession(session("b"))).rejects.toMatchObject({ kind: "locked" })
  holder.exec("ROLLBACK")
  holder.close()
  await store.createSession(session("b"))
  await store.close()
})

test("columns, indexes and triggers that went missing come back, and the search is filled again", async () => {
  using folder = temporaryDirectory()
  {
    await using t = await temporaryStore({ directory: folder.path })
    await t.store.createSession(session("a"))
    t.raw((db) => {
      db.exec(
        "DROP INDEX idx_sessions_source; DROP TRIGGER messages_fts_insert; DROP TRIGGER session_activity_on_message",
      )
      db.exec(
        "ALTER TABLE messages DROP COLUMN extra; ALTER TABLE sessions ADD COLUMN of_another_edition TEXT DEFAULT 'kept'",
      )
      db.exec(
        "INSERT INTO messages(session_id, role, content, timestamp) VALUES ('a', 'user', 'unindexed needle', 2000000000)",
      )
    })
  }
  await using t = await temporaryStore({ directory: folder.path })
  expect((await t.store.search("needle")).map((hit) => hit.id)).toEqual([1])
  expect((await t.store.search("unindexed", { sort: "newest" })).map((hit) => hit.id)).toEqual([1])
  expect((await t.store.list())[0]?.lastActivity).toBe(2_000_000_000)
  await t.store.append(sessionId("a"), [{ role: "user", content: "x", injected: "y" }])
  expect(t.raw((db) => db.prepare("SELECT of_another_edition AS kept FROM sessions").get()?.["kept"])).toBe("kept")
})

test("an old database with duplicate titles opens", async () => {
  using folder = temporaryDirectory()
  {
    await using t = await temporaryStore({ directory: folder.path })
    t.raw((db) => {
      db.exec("DROP INDEX idx_sessions_title_unique")
      db.exec(
        "INSERT INTO sessions(id, source, started_at, title) VALUES ('a', 'cli', 1, 'same'), ('b', 'cli', 2, 'same')",
      )
    })
  }
  await using t = await temporaryStore({ directory: folder.path })
  expect(await t.store.list()).toHaveLength(2)
  expect(t.log.debugs.filter((message) => message.includes("idx_sessions_title_unique"))).toHaveLength(1)
})

test("a later schema version is accepted and kept", async () => {
  using folder = temporaryDirectory()
  {
    await using t = await temporaryStore({ directory: folder.path })
    t.raw((db) => db.exec("UPDATE schema_version SET version = 25; CREATE TABLE telegram_topics(id TEXT)"))
  }
  await using t = await temporaryStore({ directory: folder.path })
  expect(t.store.info.schemaVersion).toBe(25)
  expect(
    t.raw((db) =>
      db
        .prepare("SELECT version FROM schema_version")
        .all()
        .map((row) => row["version"]),
    ),
  ).toEqual([25])
  expect(t.raw((db) => db.prepare("SELECT count(*) AS n FROM telegram_topics").get()?.["n"])).toBe(0)
})

test("a read-only store reads, writes nothing and creates no file", async () => {
  await using t = await temporaryStore()
  await t.store.createSession(session("a"))
  const reader = await openSqliteStore({ path: t.path, clock: testClock(), log: recordingLogger(), readOnly: true })
  expect(reader.info).toEqual(t.store.info)
  expect((await reader.list()).map((row) => row.id)).toEqual(["a"])
  await expect(reader.createSession(session("b"))).rejects.toMatchObject({ kind: "read-only" })
  await reader.close()
  const missing = join(t.directory, "none", "state.db")
  await expect(
    openSqliteStore({ path: missing, clock: testClock(), log: recordingLogger(), readOnly: true }),
  ).rejects.toMatchObject({
    kind: "unavailable",
    message: expect.stringContaining(missing),
  })
})

test("a path that is not a database rejects with a StoreError", async () => {
  using folder = temporaryDirectory()
  const open = (path: string): Promise<unknown> => openSqliteStore({ path, clock: testClock(), log: recordingLogger() })
  const file = join(folder.path, "file")
  writeFileSync(file, "x")
  await expect(open(join(file, "state.db"))).rejects.toMatchObject({ name: "StoreError", kind: "unavailable" })
  const directory = join(folder.path, "state.db")
  mkdirSync(directory)
  await expect(open(directory)).rejects.toMatchObject({ kind: "unavailable" })
})

test("a closed store rejects, and closing twice is harmless", async () => {
  await using t = await temporaryStore()
  await t.store.close()
  await t.store.close()
  await expect(t.store.list()).rejects.toThrow("The session database is closed.")
})

test("close waits for pending calls", async () => {
  using folder = temporaryDirectory()
  const first = await temporaryStore({ directory: folder.path })
  const created = ["a", "b", "c"].map((id) => first.store.createSession(session(id)))
  await Promise.all([...created, first.store.close()])
  await using t = await temporaryStore({ directory: folder.path })
  expect(await t.store.count()).toBe(3)
})

test("the database and its write-ahead log are readable only by their owner", async () => {
  using folder = temporaryDirectory()
  const home = join(folder.path, "home")
  await using t = await temporaryStore({ directory: home })
  await t.store.createSession(session("a"))
  const modes = ["", "/state.db", "/state.db-wal", "/state.db-shm"].map((name) => statSync(home + name).mode & 0o777)
  expect(modes).toEqual([0o700, 0o600, 0o600, 0o600])
})
