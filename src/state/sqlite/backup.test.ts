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

test("a backup finishes while another process keeps writing", async () => {
  await using t = await temporaryStore()
  await t.store.createSession(session("a"))
  const texts = Array.from({ length: 300 }, (_, index) => ({
    role: "user" as const,
    content: `${index} ${"x".repeat(9000)}`,
  }))
  await t.store.append(sessionId("a"), texts)
  const target = join(t.directory, "copy.db")
  let saved = 0
  await backupDatabase(t.path, target, (progress) => {
    if (progress === undefined) return
    saved += 1
    t.raw((db) =>
      db.exec("INSERT INTO messages(session_id, role, content, timestamp) VALUES ('a', 'user', 'meanwhile', 1)"),
    )
  })
  const copied = withRawDatabase(target, (db) => db.prepare("SELECT count(*) AS found FROM messages").get()?.["found"])
  expect([saved > 5, copied]).toEqual([true, 300])
})

test("a missing database rejects with a StoreError", async () => {
  await using t = await temporaryStore()
  await expect(backupDatabase(join(t.directory, "none.db"), join(t.directory, "copy.db"))).rejects.toMatchObject({
    kind: "unavailable",
  })
})
