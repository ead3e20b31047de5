import { readFileSync, truncateSync, writeFileSync } from "node:fs"
import { expect, test } from "vitest"
import { session, temporaryStore } from "../../../test/fixtures/state/temporary-store.ts"
import type { TemporaryStore } from "../../../test/fixtures/state/temporary-store.ts"
import type { Progress } from "../../base/progress.ts"
import { checkHealth } from "./health.ts"

/** A table of another program makes the database large without making the test slow. */
async function largeStore(): Promise<TemporaryStore> {
  const t = await temporaryStore()
  await t.store.startSession(session("a"), [{ role: "user", content: "hello" }], "a")
  t.raw((db) =>
    db.exec("CREATE TABLE filling(bytes BLOB); INSERT INTO filling VALUES (zeroblob(34000000)), (zeroblob(9000))"),
  )
  await t.store.close()
  return t
}

test("a small database is checked completely, a large one only on request", async () => {
  await using small = await temporaryStore()
  expect(await checkHealth(small.path, { scope: "quick" })).toEqual({ state: "healthy", checked: "everything" })

  await using large = await largeStore()
  expect(await checkHealth(large.path, { scope: "quick" })).toEqual({ state: "healthy", checked: "a part" })
  const reports: (Progress | undefined)[] = []
  const progress = (report: Progress | undefined): void => void reports.push(report)
  expect(await checkHealth(large.path, { scope: "full", progress })).toEqual({
    state: "healthy",
    checked: "everything",
  })
  expect([reports.length > 10, reports.at(-1)]).toEqual([true, undefined])
})

test("the quick check notices a missing table and a file that is too short", async () => {
  await using t = await largeStore()
  t.raw((db) => db.exec("DROP TABLE compression_locks"))
  const problemsNow = async (): Promise<unknown> => await checkHealth(t.path, { scope: "quick" })
  expect(await problemsNow()).toEqual({ state: "damaged", problems: ["The table compression_locks is missing."] })
  truncateSync(t.path, 34_000_000)
  expect(await problemsNow()).toEqual({ state: "damaged", problems: ["database disk image is malformed"] })
})

test("the full check includes the list of free pages", async () => {
  await using t = await largeStore()
  t.raw((db) => db.exec("DELETE FROM filling"))
  const bytes = readFileSync(t.path)
  const trunk = bytes.readUInt32BE(32)
  bytes.fill(0x5a, (trunk - 1) * 4096, trunk * 4096)
  writeFileSync(t.path, bytes)
  expect(await checkHealth(t.path, { scope: "full" })).toEqual({
    state: "damaged",
    problems: ["The list of free pages is damaged."],
  })
})
