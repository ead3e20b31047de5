import { expect, test } from "vitest"
import { MESSAGES_PER_TURN, expectedTotals, killWriterAfter, runWriters, totals } from "../fixtures/state/contention.ts"
import { temporaryStore } from "../fixtures/state/temporary-store.ts"

test("ten processes can write a thousand messages each at the same time", { timeout: 120_000 }, async () => {
  const options = { writers: 10, messages: 1000 }
  await using t = await temporaryStore()
  const results = await runWriters(t.path, options)
  expect(results).toEqual(results.map(() => ({ code: 0, stderr: "" })))
  expect(totals(t)).toEqual(expectedTotals(options))
})

test("a killed writer loses no acknowledged message", { timeout: 60_000 }, async () => {
  await using t = await temporaryStore()
  const acknowledged = await killWriterAfter(t.path, 50)
  const rows = t.raw((db) =>
    db
      .prepare("SELECT content FROM messages ORDER BY id")
      .all()
      .map((row) => row["content"]),
  )
  expect(rows.slice(0, acknowledged.length)).toEqual(acknowledged)
  expect(rows.length - acknowledged.length).toBeLessThanOrEqual(MESSAGES_PER_TURN)
  expect(rows.length % MESSAGES_PER_TURN).toBe(0)
  const [summary] = await t.store.list()
  expect(summary).toMatchObject({ id: "killed", messageCount: rows.length })
  expect(t.raw((db) => db.prepare("PRAGMA integrity_check").get()?.["integrity_check"])).toBe("ok")
})
