import { expect, test } from "vitest"
import { KILL_TURN, expectedTotals, killAfter, runWriters, totals } from "../fixtures/state/contention.ts"
import { temporaryStore } from "../fixtures/state/temporary-store.ts"

test("ten processes write a thousand messages each", { timeout: 120_000 }, async () => {
  const options = { writers: 10, messages: 1000 }
  await using t = await temporaryStore()
  const results = await runWriters(t.path, options)
  expect(results).toEqual(results.map(() => ({ code: 0, stderr: "" })))
  expect(totals(t)).toEqual(expectedTotals(options))
})

test("a writer that is killed loses nothing it had acknowledged", { timeout: 60_000 }, async () => {
  await using t = await temporaryStore()
  const acknowledged = await killAfter(t.path, 50)
  const rows = t.raw((db) =>
    db
      .prepare("SELECT content FROM messages ORDER BY id")
      .all()
      .map((row) => row["content"]),
  )
  expect(rows.slice(0, acknowledged.length)).toEqual(acknowledged)
  expect(rows.length - acknowledged.length).toBeLessThanOrEqual(KILL_TURN)
  expect(rows.length % KILL_TURN).toBe(0)
  const [summary] = await t.store.list()
  expect(summary).toMatchObject({ id: "killed", messageCount: rows.length })
  expect(t.raw((db) => db.prepare("PRAGMA integrity_check").get()?.["integrity_check"])).toBe("ok")
})
