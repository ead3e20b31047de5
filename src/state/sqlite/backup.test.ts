import { join } from "node:path"
import { expect, test } from "vitest"
import { session, sessionId, temporaryStore, withRawDatabase } from "../../../test/fixtures/state/temporary-store.ts"
import { backupDatabase } from "./backup.ts"

test("a backup of an open database includes its write-ahead log", async () => {
  await using t = await temporaryStore()
  await t.store.createSession(session("a"))
  await t.store.append(sessionId("a"), [{ role: "user", content: [{ type: "text", text: "图" }] }])
  const target = join(t.directory, "copy.db")
  await backupDatabase(t.path, target)
  const rows = (path: string): unknown[] =>
    withRawDatabase(path, (db) =>
      db
        .prepare("SELECT * FROM messages")
        .all()
        .map((row) => ({ ...row })),
    )
  expect(rows(target)).toEqual(rows(t.path))
})

test("a missing database rejects with a StoreError", async () => {
  await using t = await temporaryStore()
  await expect(backupDatabase(join(t.directory, "none.db"), join(t.directory, "copy.db"))).rejects.toMatchObject({
    kind: "unavailable",
  })
})
