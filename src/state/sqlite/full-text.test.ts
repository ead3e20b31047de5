import { join } from "node:path"
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
import { connect } from "./connection.ts"
import type { Database } from "./connection.ts"
import { setUpFullText } from "./full-text.ts"
import { checkHealth } from "./health.ts"
import { setUpSchema } from "./schema-setup.ts"

/** The database as an SQLite without FTS5, or without its trigram tokenizer, would present it. */
function withoutFeature(db: Database, missing: "module" | "trigrams"): Database {
  return {
    ...db,
    get: (sql, ...values) =>
      missing === "module" && sql.includes("pragma_module_list") ? undefined : db.get(sql, ...values),
    exec: (sql) => {
      if (missing === "trigrams" && sql.includes("probe") && sql.includes("trigram"))
        throw new Error("no such tokenizer: trigram")
      db.exec(sql)
    },
  }
}

function triggers(db: Database): number {
  return db.all("SELECT 1 FROM sqlite_master WHERE type = 'trigger' AND name LIKE 'messages_fts%'").length
}

test.each([
  ["module", "none", 0],
  ["trigrams", "no-trigram", 3],
] as const)(
  "without %s messages are still written; once it is available again everything is searchable",
  async (missing, search, left) => {
    using folder = temporaryDirectory()
    {
      await using t = await temporaryStore({ directory: folder.path })
      await t.store.createSession(session("a"))
      const connection = connect({ path: t.path, clock: testClock(), log: t.log, readOnly: false })
      // Simulates another process without the feature that opens the database.
      await connection.write((db) => db.exec("UPDATE state_meta SET value = '' WHERE key = 'schema_fingerprint'"))
      const info = await setUpSchema(
        {
          ...connection,
          read: (work) => connection.read((db) => work(withoutFeature(db, missing))),
          write: (work) => connection.write((db) => work(withoutFeature(db, missing))),
        },
        { log: t.log, pause: () => Promise.resolve() },
      )
      expect(info).toEqual({ schemaVersion: 16, search })
      expect(await connection.read(triggers)).toBe(left)
      await connection.close()
      await t.store.append(sessionId("a"), [{ role: "user", content: "大别山项目 needle" }])
    }
    await using t = await temporaryStore({ directory: folder.path })
    expect(t.store.info.search).toBe("full")
    expect(await t.store.search("needle")).toHaveLength(1)
    expect(await t.store.search("大别山项目")).toHaveLength(1)
  },
)

test("an old schema version stays while FTS5 is missing", async () => {
  await using t = await temporaryStore()
  const connection = connect({ path: t.path, clock: testClock(), log: recordingLogger(), readOnly: false })
  const outcome = await connection.write((db) => {
    db.exec("UPDATE schema_version SET version = 9")
    return setUpFullText(withoutFeature(db, "module"), { schemaVersion: 9, log: recordingLogger() })
  })
  expect(outcome).toEqual({ search: "none", schemaVersion: 9 })
  expect(t.raw((db) => db.prepare("SELECT version FROM schema_version").get()?.["version"])).toBe(9)
  await connection.close()
})

test("a new index is filled in parts: others save in between, and the next process completes what a killed one left", async () => {
  using folder = temporaryDirectory()
  {
    await using t = await temporaryStore({ directory: folder.path })
    const messages = Array.from({ length: 900 }, (_, index) => ({
      role: "user" as const,
      content: `word${index} here`,
    }))
    await t.store.startSession(session("a"), messages, "a")
    await t.store.createSession(session("b"))
  }
  const path = join(folder.path, "state.db")
  withRawDatabase(path, (db) => db.exec("DROP TRIGGER messages_fts_insert"))
  const connection = connect({ path, clock: testClock(), log: recordingLogger(), readOnly: false })
  let pauses = 0
  const pause = async (): Promise<void> => {
    pauses += 1
    await connection.write((db) =>
      db.run(
        "INSERT INTO messages(session_id, role, content, timestamp) VALUES ('b', 'user', ?, 1)",
        `between ${pauses}`,
      ),
    )
    if (pauses === 2) throw new Error("killed")
  }
  await expect(setUpSchema(connection, { log: recordingLogger(), pause })).rejects.toThrow("killed")
  await connection.close()

  await using t = await temporaryStore({ directory: folder.path })
  expect(t.store.info.search).toBe("full")
  for (const query of ["word0", "word450", "word899"]) expect((await t.store.search(query)).length).toBe(1)
  expect((await t.store.search("between")).length).toBe(2)
  expect((await checkHealth(path, { scope: "full" })).state).toBe("healthy")
  expect(t.raw((db) => db.prepare("SELECT 1 FROM state_meta WHERE key = 'search_index_fill'").get())).toBeUndefined()
})
