import { join } from "node:path"
import { expect, test } from "vitest"
import { session, sid, temporaryStore, withRawDatabase } from "../../../test/fixtures/state/temporary-store.ts"
import { backupDatabase } from "./backup.ts"

test("a copy of an open database holds what is still in its log", async () => {
  await using t = await temporaryStore()
  await t.store.createSession(session("a"))
  await t.store.append(sid("a"), [{ role: "user", content: [{ type: "text", text: "图" }] }])
  const target = join(t.folder, "copy.db")
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

test("a missing database is a store error", async () => {
  await using t = await temporaryStore()
  await expect(backupDatabase(join(t.folder, "none.db"), join(t.folder, "copy.db"))).rejects.toMatchObject({
    kind: "unavailable",
  })
})
