import { copyFileSync, readFileSync, readdirSync, writeFileSync } from "node:fs"
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
import { checkHealth, repairStore } from "./repair.ts"

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

function backups(folder: string): string[] {
  return readdirSync(folder).filter((name) => /\.malformed-backup-[\d_]+$/.test(name))
}

test("a healthy database is not changed", async () => {
  using folder = temporaryDirectory()
  const path = await filledFile(folder.path)
  const before = readFileSync(path)
  expect(checkHealth(path)).toEqual({ healthy: true })
  expect(repairStore(path, { backup: true, clock: testClock() })).toEqual({ kind: "healthy" })
  expect(readFileSync(path).equals(before)).toBe(true)
  expect(backups(folder.path)).toEqual([])
})

test("a missing file is unhealthy and is not created", () => {
  using folder = temporaryDirectory()
  const path = join(folder.path, "state.db")
  expect(checkHealth(path)).toEqual({ healthy: false, problems: [`There is no session database at ${path}.`] })
  expect(readdirSync(folder.path)).toEqual([])
})

test("opening repairs duplicate catalogue entries and backs up the damaged file", async () => {
  using folder = temporaryDirectory()
  const path = await filledFile(folder.path)
  editCatalogue(path, DUPLICATE_ENTRY)
  expect(checkHealth(path)).toMatchObject({ healthy: false })
  const log = recordingLogger()
  const store = await openSqliteStore({ path, clock: testClock(), log })
  expect((await store.search("needle")).map((hit) => hit.id)).toEqual([1])
  await store.close()
  expect(log.warnings).toHaveLength(2)
  expect(backups(folder.path)).toEqual(["state.db.malformed-backup-20270115_080000"])
  expect(checkHealth(path)).toEqual({ healthy: true })
})

test("search tables that cannot be repaired are rebuilt from the messages", async () => {
  using folder = temporaryDirectory()
  const path = await filledFile(folder.path)
  editCatalogue(path, "UPDATE sqlite_master SET sql = 'CREATE VIRTUAL TABLE broken' WHERE name = 'messages_fts'")
  const outcome = repairStore(path, { backup: false, clock: testClock() })
  expect(outcome).toEqual({ kind: "repaired", how: "search-index", backup: undefined })
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
  expect(checkHealth(path)).toEqual({
    healthy: false,
    problems: ["The search table messages_fts contains 0 of 1 messages."],
  })
  expect(repairStore(path, { backup: true, clock: testClock() })).toMatchObject({
    kind: "repaired",
    how: "search-index",
  })
  await using t = await temporaryStore({ directory: folder.path })
  expect(await t.store.search("needle")).toHaveLength(1)
})

test("a database that cannot be repaired is reported, kept and backed up once", async () => {
  using folder = temporaryDirectory()
  const path = await filledFile(folder.path)
  const bytes = readFileSync(path)
  bytes.fill(0x5a, 100, 4096) // the first page, with the whole catalogue
  writeFileSync(path, bytes)
  copyFileSync(path, join(folder.path, "damaged"))
  const open = (): Promise<unknown> => openSqliteStore({ path, clock: testClock(), log: recordingLogger() })
  await expect(open()).rejects.toMatchObject({ kind: "corrupt" })
  await expect(open()).rejects.toMatchObject({ kind: "corrupt" })
  expect(backups(folder.path)).toHaveLength(1)
  expect(
    readFileSync(join(folder.path, backups(folder.path)[0]!)).equals(readFileSync(join(folder.path, "damaged"))),
  ).toBe(true)
})
