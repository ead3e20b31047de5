import { expect, test } from "vitest"
import {
  recordingLog,
  session,
  sid,
  temporaryFolder,
  temporaryStore,
  testClock,
} from "../../../test/fixtures/state/temporary-store.ts"
import { connect } from "./connection.ts"
import type { Database } from "./connection.ts"
import { setUpFullText } from "./full-text.ts"
import { setUpSchema } from "./set-up.ts"

/** The same database as an SQLite without the full-text module, or without its trigrams, would show it. */
function crippled(db: Database, missing: "module" | "trigrams"): Database {
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
  "without %s messages are still written; once it is back everything can be found",
  async (missing, search, left) => {
    using folder = temporaryFolder()
    {
      await using t = await temporaryStore({ folder: folder.path })
      await t.store.createSession(session("a"))
      const connection = connect({ path: t.path, clock: testClock(), log: t.log, readOnly: false })
      // What another process without the module leaves behind when it opens the file.
      await connection.write((db) => db.exec("UPDATE state_meta SET value = '' WHERE key = 'schema_fingerprint'"))
      const facts = await setUpSchema(
        {
          ...connection,
          read: (work) => connection.read((db) => work(crippled(db, missing))),
          write: (work) => connection.write((db) => work(crippled(db, missing))),
        },
        t.log,
      )
      expect(facts).toEqual({ schemaVersion: 11, search })
      expect(await connection.read(triggers)).toBe(left)
      await connection.close()
      await t.store.append(sid("a"), [{ role: "user", content: "大别山项目 needle" }])
    }
    await using t = await temporaryStore({ folder: folder.path })
    expect(t.store.facts.search).toBe("full")
    expect(await t.store.search("needle")).toHaveLength(1)
    expect(await t.store.search("大别山项目")).toHaveLength(1)
  },
)

test("an old stamp stays while there is no module to migrate with", async () => {
  await using t = await temporaryStore()
  const connection = connect({ path: t.path, clock: testClock(), log: recordingLog(), readOnly: false })
  const outcome = await connection.write((db) => {
    db.exec("UPDATE schema_version SET version = 9")
    return setUpFullText(crippled(db, "module"), { stamp: 9, log: recordingLog() })
  })
  expect(outcome).toEqual({ search: "none", stamp: 9 })
  expect(t.raw((db) => db.prepare("SELECT version FROM schema_version").get()?.["version"])).toBe(9)
  await connection.close()
})
