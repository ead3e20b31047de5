import { closeSync, mkdirSync, openSync, readFileSync, readdirSync, writeFileSync, writeSync } from "node:fs"
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
  withRawDatabase,
} from "../../../test/fixtures/state/temporary-store.ts"
import { openSqliteStore } from "./open-store.ts"
import { checkHealth } from "./health.ts"
import { repairStore } from "./repair.ts"
import type { RepairOutcome } from "./repair.ts"

/** A closed database with one searchable message. */
async function filledFile(folder: string): Promise<string> {
  await using t = await temporaryStore({ directory: folder })
  await t.store.createSession(session("a"))
  await t.store.append(sessionId("a"), [{ role: "user", content: "needle" }])
  return t.path
}

function editCatalogue(path: string, sql: string): void {
  const db = new DatabaseSync(path, { defensive: false })
  db.exec(`PRAGMA writable_schema = ON; ${sql}`)
  db.close()
}

const DUPLICATE_ENTRY =
  "INSERT INTO sqlite_master SELECT type, name, tbl_name, rootpage, sql FROM sqlite_master WHERE name = 'messages_fts'"

/** A closed database with 300 messages in the session `a`. */
async function manyMessages(folder: string): Promise<string> {
  await using t = await temporaryStore({ directory: folder })
  await t.store.createSession(session("a"))
  const messages = Array.from({ length: 300 }, (_, number) => ({
    role: "user" as const,
    content: `message ${number} ${"x".repeat(200)}`,
  }))
  await t.store.append(sessionId("a"), messages)
  return t.path
}

/** The number of a page in the middle of a table, or of its only page. */
function leafPage(path: string, table: string): number {
  return withRawDatabase(path, (db) => {
    const leaves = db
      .prepare("SELECT pageno FROM dbstat WHERE name = ? AND pagetype = 'leaf' ORDER BY pageno")
      .all(table)
    return Number(leaves[Math.floor(leaves.length / 2)]?.["pageno"])
  })
}

function damage(path: string, page: number): void {
  const file = openSync(path, "r+")
  writeSync(file, Buffer.alloc(4096, 0x5a), 0, 4096, (page - 1) * 4096)
  closeSync(file)
}

/** Opens the store, reads the session `a` if it exists, and stores a message in it. */
async function openAndRead(path: string): Promise<{ readonly notices: string[]; readonly contents: unknown[] }> {
  const notices: string[] = []
  const onRepair = (notice: string): number => notices.push(notice)
  const store = await openSqliteStore({ path, clock: testClock(), log: recordingLogger(), onRepair })
  try {
    await store.ensureSession(session("a"))
    await store.messages(sessionId("a"))
    await store.append(sessionId("a"), [{ role: "user", content: "new" }])
    return { notices, contents: (await store.messages(sessionId("a"))).map(({ message }) => message?.content) }
  } finally {
    await store.close()
  }
}

function backups(folder: string): string[] {
  return readdirSync(folder).filter((name) => /\.malformed-backup-[\d_]+$/.test(name))
}

const repair = (path: string, backup: boolean): Promise<RepairOutcome> =>
  repairStore(path, { backup, clock: testClock(), log: recordingLogger() })

test("a healthy database is not changed", async () => {
  using folder = temporaryDirectory()
  const path = await filledFile(folder.path)
  const before = readFileSync(path)
  expect((await checkHealth(path, { scope: "full" })).state).toBe("healthy")
  expect(await repair(path, true)).toEqual({ kind: "healthy" })
  expect(readFileSync(path).equals(before)).toBe(true)
  expect(backups(folder.path)).toEqual([])
})

test("a missing file is unhealthy and is not created", async () => {
  using folder = temporaryDirectory()
  const path = join(folder.path, "state.db")
  expect(await checkHealth(path, { scope: "full" })).toEqual({
    state: "unchecked",
    reason: `There is no session database at ${path}.`,
  })
  expect(readdirSync(folder.path)).toEqual([])
})

test("opening repairs duplicate catalogue entries and backs up the damaged file", async () => {
  using folder = temporaryDirectory()
  const path = await filledFile(folder.path)
  editCatalogue(path, DUPLICATE_ENTRY)
  expect(await checkHealth(path, { scope: "full" })).toMatchObject({ state: "damaged" })
  const log = recordingLogger()
  const store = await openSqliteStore({ path, clock: testClock(), log })
  expect((await store.search("needle")).map((hit) => hit.id)).toEqual([1])
  await store.close()
  expect(log.warnings).toHaveLength(2)
  expect(backups(folder.path)).toEqual(["state.db.malformed-backup-20270115_080000"])
  expect((await checkHealth(path, { scope: "full" })).state).toBe("healthy")
})

test("search tables that cannot be repaired are rebuilt from the messages", async () => {
  using folder = temporaryDirectory()
  const path = await filledFile(folder.path)
  editCatalogue(path, "UPDATE sqlite_master SET sql = 'CREATE VIRTUAL TABLE broken' WHERE name = 'messages_fts'")
  expect(await repair(path, false)).toEqual({
    kind: "repaired",
    notice: "The session database was damaged: Hermes saved 1 of 1 message in a new one.",
    damagedFile: undefined,
  })
  expect(backups(folder.path)).toEqual([])
  await using t = await temporaryStore({ directory: folder.path })
  expect((await t.store.search("needle")).map((hit) => hit.id)).toEqual([1])
})

test("an index with missing messages is unhealthy and is repaired", async () => {
  using folder = temporaryDirectory()
  const path = await filledFile(folder.path)
  const db = new DatabaseSync(path)
  db.exec("DELETE FROM messages_fts")
  db.close()
  expect(await checkHealth(path, { scope: "full" })).toEqual({
    state: "damaged",
    problems: ["Messages that are missing from the search table messages_fts: 1."],
  })
  expect(await repair(path, true)).toMatchObject({ kind: "repaired" })
  await using t = await temporaryStore({ directory: folder.path })
  expect(await t.store.search("needle")).toHaveLength(1)
})

test("one damaged page costs its messages; the rest is kept, and new ones are stored", async () => {
  using folder = temporaryDirectory()
  const path = await manyMessages(folder.path)
  damage(path, leafPage(path, "messages"))
  const damaged = readFileSync(path)
  const first = await openAndRead(path)
  expect(first.notices).toHaveLength(1)
  expect(first.notices[0]).toMatch(
    /was damaged: Hermes saved \d+ of 300 messages in a new one and kept the damaged file as /,
  )
  expect(first.contents.length).toBeGreaterThan(250)
  expect(first.contents.at(-1)).toBe("new")
  expect(readFileSync(join(folder.path, backups(folder.path)[0] ?? "")).equals(damaged)).toBe(true)
  const second = await openAndRead(path)
  expect([second.notices, second.contents.length]).toEqual([[], first.contents.length + 1])
})

test("damage that is found while the store is open is repaired too, and the operation succeeds", async () => {
  using folder = temporaryDirectory()
  const path = await manyMessages(folder.path)
  const notices: string[] = []
  const store = await openSqliteStore({
    path,
    clock: testClock(),
    log: recordingLogger(),
    onRepair: (notice) => notices.push(notice),
  })
  damage(path, leafPage(path, "messages"))
  // Both find the damage; it is repaired once.
  const [read] = await Promise.all([store.messages(sessionId("a")), store.conversation(sessionId("a"))])
  await store.append(sessionId("a"), [{ role: "user", content: "new" }])
  expect(read.length).toBeGreaterThan(250)
  expect(notices).toHaveLength(1)
  await store.close()
})

test("a file that is no database is set aside", async () => {
  using folder = temporaryDirectory()
  const path = join(folder.path, "state.db")
  writeFileSync(path, "This is not a database. ".repeat(400))
  const { notices } = await openAndRead(path)
  const [copy = ""] = backups(folder.path)
  expect(notices).toEqual([
    "state.db was not a session database, or nothing in it could be read: Hermes started a new one and kept the damaged " +
      `file as ${join(folder.path, copy)}.`,
  ])
  expect(readFileSync(join(folder.path, copy), "utf8")).toContain("This is not a database.")
  expect((await openAndRead(path)).notices).toEqual([])
})

test("messages whose session is lost get a session, and other tables are kept", async () => {
  using folder = temporaryDirectory()
  const path = await manyMessages(folder.path)
  withRawDatabase(path, (db) => db.exec("CREATE TABLE notes(text TEXT); INSERT INTO notes VALUES ('kept')"))
  damage(path, leafPage(path, "sessions"))
  expect((await openAndRead(path)).contents).toHaveLength(301)
  expect(withRawDatabase(path, (db) => db.prepare("SELECT text FROM notes").all())).toEqual([{ text: "kept" }])
})

test("several processes that open a damaged database repair it once", async () => {
  using folder = temporaryDirectory()
  const path = await manyMessages(folder.path)
  damage(path, leafPage(path, "messages"))
  const opened = await Promise.all([1, 2, 3].map(() => openAndRead(path)))
  expect(opened.flatMap(({ notices }) => notices)).toHaveLength(1)
  expect(backups(folder.path)).toHaveLength(1)
})

test("a connection notices that another process has replaced the file, and loses no message", async () => {
  using folder = temporaryDirectory()
  const path = await manyMessages(folder.path)
  const log = recordingLogger()
  const store = await openSqliteStore({ path, clock: testClock(), log })
  await store.append(sessionId("a"), [{ role: "user", content: "before" }])
  expect(await repairStore(path, { backup: true, clock: testClock(), log, force: true })).toMatchObject({
    kind: "repaired",
    notice: expect.stringContaining("301 of 301 messages"),
  })
  await store.append(sessionId("a"), [{ role: "user", content: "after" }])
  await store.close()
  const rows = withRawDatabase(path, (db) => db.prepare("SELECT content FROM messages ORDER BY id DESC LIMIT 2").all())
  expect(rows).toEqual([{ content: "after" }, { content: "before" }])
})

test("a repair that fails leaves the damaged file and explains why", async () => {
  using folder = temporaryDirectory()
  const path = await manyMessages(folder.path)
  damage(path, leafPage(path, "messages"))
  const before = readFileSync(path)
  // A directory in the way of the new file, instead of a full disk.
  mkdirSync(`${path}.salvage`)
  const outcome = await repair(path, true)
  expect(outcome).toMatchObject({
    kind: "failed",
    failure: { message: expect.stringContaining("the file is unchanged") },
  })
  expect(readFileSync(path).equals(before)).toBe(true)
  expect(backups(folder.path)).toEqual([])
})

test("a compressed conversation is healthy, although the copies in its continuation are not indexed", async () => {
  await using t = await temporaryStore()
  await t.store.startSession(session("a"), [{ role: "user", content: "one" }], "one")
  await t.store.rotate(sessionId("a"), session("b"), [{ role: "user", content: "a summary" }])
  await t.store.append(sessionId("b"), [{ role: "user", content: "two" }])
  expect((await checkHealth(t.path, { scope: "full" })).state).toBe("healthy")
})
