import { copyFileSync, mkdirSync, readFileSync, readdirSync, statSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import {
  recordingLogger,
  session,
  sessionId,
  temporaryDirectory,
  temporaryStore,
  testClock,
} from "../../../test/fixtures/state/temporary-store.ts"
import { seededRandom } from "../../../test/support/seeded-random.ts"
import { openSqliteStore } from "./open-store.ts"
import { checkHealth } from "./health.ts"

const PAGE = 4096
/** The first pages hold the roots of all tables and indexes. Of the others only some are damaged, for time. */
const SAMPLE = { from: 20, every: 17 }

type Damage = (page: Buffer, random: () => number) => void

const DAMAGES: Readonly<Record<string, Damage>> = {
  zeroed: (page) => page.fill(0),
  overwritten: (page, random) => page.forEach((_, index) => (page[index] = Math.floor(random() * 256))),
  "with flipped bytes": (page, random) => {
    for (let flips = 0; flips < 12; flips += 1)
      page[Math.floor(random() * page.length)]! ^= 1 + Math.floor(random() * 255)
  },
  "with a damaged header": (page, random) =>
    page.forEach((_, index) => index < 12 && (page[index] = Math.floor(random() * 256))),
}

const folder = temporaryDirectory()
const original = join(folder.path, "original", "state.db")

beforeAll(async () => {
  mkdirSync(join(folder.path, "original"))
  await fillDatabase(join(folder.path, "original"), 24)
})
afterAll(() => folder[Symbol.dispose]())

describe.each(Object.keys(DAMAGES))("a page %s", (kind) => {
  test("never stops Hermes, and costs only what SQLite cannot read", async () => {
    const pages = statSync(original).size / PAGE
    const random = seededRandom(20_271_115)
    const problems: string[] = []
    for (let page = 0; page < pages; page += page < SAMPLE.from ? 1 : SAMPLE.every) {
      const directory = join(folder.path, `${kind.replaceAll(" ", "-")}-${page}`)
      mkdirSync(directory)
      const bytes = readFileSync(original)
      DAMAGES[kind]?.(bytes.subarray(page * PAGE, (page + 1) * PAGE), random)
      const found = await problemsWith(bytes, directory).catch((error: unknown) => [String(error)])
      problems.push(...found.map((problem) => `page ${page + 1} of ${pages}: ${problem}`))
    }
    expect(problems).toEqual([])
  })
})

async function problemsWith(bytes: Buffer, directory: string): Promise<readonly string[]> {
  const path = join(directory, "state.db")
  writeFileSync(path, bytes, { mode: 0o600 })
  const readable = readableMessages(path, directory)

  const notices = [...(await use(path, "first")), ...(await use(path, "second"))]
  const later = await use(path, "third")

  const kept = readableMessages(path, directory)
  const lost = notices.length === 0 ? [] : [...readable].filter(([id, content]) => kept.get(id) !== content)
  const copies = readdirSync(directory).filter((name) => /malformed-backup-[\d_]+$/.test(name))
  return [
    ...(notices.length > 1 ? [`several notices: ${notices.join(" ")}`] : []),
    ...(later.length > 0 ? [`a notice in a later run: ${later.join(" ")}`] : []),
    ...(lost.length > 0 ? [`${lost.length} of ${readable.size} readable messages lost: ${notices.join(" ")}`] : []),
    ...(copies.length === notices.length ? [] : [`${copies.length} copies for ${notices.length} notices`]),
    ...(notices.length === 1 && (await checkHealth(path, { scope: "full" })).state !== "healthy"
      ? ["still damaged"]
      : []),
  ]
}

/** What a user does: lists, reads and searches old conversations, and writes a new one. Returns the notices. */
async function use(path: string, name: string): Promise<readonly string[]> {
  const notices: string[] = []
  const store = await openSqliteStore({
    path,
    clock: testClock(),
    log: recordingLogger(),
    onRepair: (notice) => notices.push(notice),
  })
  try {
    const listed = await store.list({ limit: 100 })
    for (const { id } of listed) await store.conversation(id)
    await store.search("message")
    await store.createSession(session(name))
    await store.append(sessionId(name), [{ role: "user", content: `new ${name}` }])
    expect((await store.messages(sessionId(name))).map(({ message }) => message?.content)).toEqual([`new ${name}`])
    expect((await store.search(`"new ${name}"`)).length).toBe(1)
  } finally {
    await store.close()
  }
  return notices
}

/** Reads each message on its own, in a copy. */
function readableMessages(path: string, directory: string): ReadonlyMap<number, string> {
  const copy = join(directory, "copy.db")
  copyFileSync(path, copy)
  const found = new Map<number, string>()
  const db = new DatabaseSync(copy)
  try {
    const select = db.prepare("SELECT * FROM messages NOT INDEXED WHERE id = ? AND session_id LIKE 's%'")
    for (let id = 1; id <= 400; id += 1) {
      try {
        const row = select.get(id)
        if (typeof row?.["content"] === "string") found.set(id, row["content"])
      } catch {
        // Damaged.
      }
    }
  } catch {
    // The catalogue is damaged.
  } finally {
    db.close()
  }
  return found
}

/** Conversations with short and long messages, and free pages. */
async function fillDatabase(directory: string, sessions: number): Promise<void> {
  await using t = await temporaryStore({ directory })
  for (let number = 0; number < sessions; number += 1) {
    await t.store.createSession(session(`s${number}`))
    const messages = Array.from({ length: 8 }, (_, index) => ({
      role: "user" as const,
      content: `message ${number}.${index} ${"word ".repeat(((number * 37 + index * 11) % 60) * (index === 3 ? 30 : 2))}`,
    }))
    await t.store.append(sessionId(`s${number}`), messages)
  }
  for (const number of [3, 4, 5]) await t.store.deleteSession(sessionId(`s${number}`))
}
