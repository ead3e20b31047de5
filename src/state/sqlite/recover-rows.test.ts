import { copyFileSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import {
  session,
  sessionId,
  temporaryDirectory,
  temporaryStore,
  withRawDatabase,
} from "../../../test/fixtures/state/temporary-store.ts"
import { seededRandom } from "../../../test/support/seeded-random.ts"
import { openDatabasePages } from "./file-format/database-pages.ts"
import { salvage } from "./salvage.ts"

const folder = temporaryDirectory()
const original = join(folder.path, "state.db")
const SESSIONS = 12
const PER_SESSION = 30

/** Several hundred messages, some longer than a page, and free pages of a deleted session. */
beforeAll(async () => {
  await using t = await temporaryStore({ directory: folder.path })
  for (let number = 0; number < SESSIONS; number += 1) {
    const id = sessionId(`session-${number}`)
    await t.store.createSession(session(id, { systemPrompt: `prompt ${number} `.repeat(40) }))
    const messages = Array.from({ length: PER_SESSION }, (_, index) => ({
      role: "user" as const,
      content: contentOf(number * PER_SESSION + index, lengthOf(number * PER_SESSION + index)),
    }))
    await t.store.append(id, messages)
    await t.store.setGeneratedTitle(id, `title ${number}`)
  }
  await t.store.deleteSession(sessionId("session-4"))
})
afterAll(() => folder[Symbol.dispose]())

/** A marker in every few bytes tells which pages contain a part of the message. */
function contentOf(message: number, length: number): string {
  return `<m${message}>äß `.repeat(Math.ceil(length / 10))
}

function lengthOf(message: number): number {
  if (message % 29 === 0) return 13_000
  return message % 7 === 0 ? 5000 : 40 + (message % 5) * 60
}

interface Row {
  readonly id: number
  readonly [column: string]: unknown
}

const rowsIn = (path: string, table: string): readonly Row[] =>
  withRawDatabase(
    path,
    (db) => db.prepare(`SELECT rowid AS id, * FROM ${table} ORDER BY rowid`).all() as unknown as Row[],
  )

function salvaged(bytes: Buffer, wal?: Buffer): string {
  const from = join(folder.path, "damaged.db")
  const to = join(folder.path, "saved.db")
  for (const path of [from, to]) for (const suffix of ["", "-wal", "-shm"]) rmSync(path + suffix, { force: true })
  writeFileSync(from, bytes)
  if (wal !== undefined) writeFileSync(`${from}-wal`, wal)
  const pages = openDatabasePages(from)
  try {
    salvage(from, to, pages)
  } finally {
    pages.close()
  }
  return to
}

/** The pages of a table that contain a part of each row. */
function pagesOf(table: string, marker: (row: Row) => string): ReadonlyMap<number, ReadonlySet<number>> {
  const bytes = readFileSync(original)
  const { size, numbers } = withRawDatabase(original, (db) => ({
    size: Number(db.prepare("PRAGMA page_size").get()?.["page_size"]),
    numbers: db
      .prepare("SELECT pageno FROM dbstat WHERE name = ?")
      .all(table)
      .map((row) => Number(row["pageno"])),
  }))
  return new Map(
    rowsIn(original, table).map((row) => [
      row.id,
      new Set(numbers.filter((number) => bytes.subarray((number - 1) * size, number * size).includes(marker(row)))),
    ]),
  )
}

/** The pages of the catalogue, the root and interior pages of the two tables, and some of the others, for time. */
function damagedPages(): readonly number[] {
  return withRawDatabase(original, (db) =>
    db
      .prepare(
        `SELECT pageno FROM dbstat WHERE name = 'sqlite_schema' OR pageno % 60 = 0
         OR (name IN ('messages', 'sessions') AND (pagetype = 'internal' OR path = '/' OR pageno % 4 = 0)) ORDER BY pageno`,
      )
      .all()
      .map((row) => Number(row["pageno"])),
  )
}

const DAMAGES: Readonly<Record<string, (page: Buffer, random: () => number) => void>> = {
  zeroed: (page) => page.fill(0),
  overwritten: (page, random) => page.forEach((_, index) => (page[index] = Math.floor(random() * 256))),
}

describe.each(Object.keys(DAMAGES))("any one page %s", (kind) => {
  test("costs only the rows that have a part on it", () => {
    const random = seededRandom(20_271_116)
    const markers = {
      messages: pagesOf("messages", (row) => /^<m\d+>/.exec(String(row["content"]))?.[0] ?? ""),
      sessions: pagesOf(
        "sessions",
        (row) => `title ${/\d+$/.exec(String(row["session_id"] ?? row["title"]))?.[0] ?? ""}`,
      ),
    }
    const before = { messages: rowsIn(original, "messages"), sessions: rowsIn(original, "sessions") }
    const problems: string[] = []
    for (const page of damagedPages()) {
      const bytes = readFileSync(original)
      DAMAGES[kind]?.(bytes.subarray((page - 1) * 4096, page * 4096), random)
      const saved = salvaged(bytes)
      for (const table of ["messages", "sessions"] as const) {
        const kept = new Map(rowsIn(saved, table).map((row) => [row.id, JSON.stringify(row)]))
        const lost = before[table].filter(
          (row) => markers[table].get(row.id)?.has(page) !== true && kept.get(row.id) !== JSON.stringify(row),
        )
        const known = new Set(before[table].map(({ id }) => id))
        const surplus = [...kept.keys()].filter((id) => !known.has(id))
        if (lost.length > 0) problems.push(`page ${page}: ${lost.length} ${table} lost, e.g. ${lost[0]?.id}`)
        if (surplus.length > 0) problems.push(`page ${page}: ${surplus.length} deleted ${table} came back`)
      }
    }
    expect(problems).toEqual([])
  })
})

test("the newest pages come from the write-ahead log, up to its last commit", () => {
  const path = join(folder.path, "logged.db")
  copyFileSync(original, path)
  const db = new DatabaseSync(path)
  db.exec("PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0; PRAGMA cache_size = 10")
  db.exec("UPDATE messages SET content = 'changed in the log' WHERE id = 2")
  db.exec("BEGIN; UPDATE messages SET content = 'not committed'")
  const logged = { bytes: readFileSync(path), wal: readFileSync(`${path}-wal`) }
  db.exec("ROLLBACK")
  const root = Number(db.prepare("SELECT rootpage FROM sqlite_master WHERE name = 'messages'").get()?.["rootpage"])
  db.close()
  logged.bytes.fill(0, (root - 1) * 4096, root * 4096)
  logged.bytes.fill(0, 0, 4096)

  const before = rowsIn(original, "messages").map((row) => [row.id, row["content"]])
  const known = new Set(before.map(([id]) => id))
  // The list of free pages was on the first page, so deleted messages come back too.
  const after = rowsIn(salvaged(logged.bytes, logged.wal), "messages")
    .map((row) => [row.id, row["content"]])
    .filter(([id]) => known.has(id))
  expect(after).toEqual(before.map(([id, content]) => [id, id === 2 ? "changed in the log" : content]))
})

test.each([512, 1024, 8192, 65_536])("a page size of %d is found without the first page", (size) => {
  const path = join(folder.path, `pages-${size}.db`)
  copyFileSync(original, path)
  withRawDatabase(path, (db) => db.exec(`PRAGMA journal_mode = DELETE; PRAGMA page_size = ${size}; VACUUM`))
  const before = rowsIn(path, "messages")
  const bytes = readFileSync(path)
  bytes.fill(0, 0, size)
  expect(rowsIn(salvaged(bytes), "messages")).toEqual(before)
})

test("rows that were stored before columns were added get the default values", () => {
  const path = join(folder.path, "old.db")
  rmSync(path, { force: true })
  withRawDatabase(path, (db) =>
    db.exec(`
      CREATE TABLE sessions (id TEXT PRIMARY KEY, source TEXT NOT NULL, user_id TEXT, model TEXT, model_config TEXT,
        system_prompt TEXT, parent_session_id TEXT, started_at REAL NOT NULL);
      CREATE TABLE messages (id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT NOT NULL, role TEXT NOT NULL, content TEXT,
        tool_call_id TEXT, tool_calls TEXT, tool_name TEXT, timestamp REAL NOT NULL);
      INSERT INTO sessions(id, source, started_at) VALUES ('old', 'cli', 1700000000);
      INSERT INTO messages(session_id, role, content, timestamp) VALUES ('old', 'user', 'hello', 1700000000.5);
      ALTER TABLE messages ADD COLUMN active INTEGER NOT NULL DEFAULT 1;
      ALTER TABLE messages ADD COLUMN token_count INTEGER;
      INSERT INTO messages(session_id, role, content, timestamp, token_count) VALUES ('old', 'user', 'again', 1700000001, 7);`),
  )
  const bytes = readFileSync(path)
  bytes.fill(0, 0, 100)
  expect(rowsIn(salvaged(bytes), "messages")).toMatchObject([
    { id: 1, session_id: "old", content: "hello", timestamp: 1_700_000_000.5, active: 1, token_count: null },
    { id: 2, session_id: "old", content: "again", timestamp: 1_700_000_001, active: 1, token_count: 7 },
  ])
})

test("a file of another kind has no rows", () => {
  const junk = Buffer.alloc(300_000)
  const random = seededRandom(7)
  for (let index = 0; index < junk.length; index += 1) junk[index] = Math.floor(random() * 256)
  const from = join(folder.path, "junk.db")
  writeFileSync(from, junk)
  const pages = openDatabasePages(from)
  expect(salvage(from, join(folder.path, "junk-saved.db"), pages)).toBeUndefined()
  pages.close()
})
