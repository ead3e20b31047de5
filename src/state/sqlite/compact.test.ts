import { existsSync, statSync } from "node:fs"
import { expect, test } from "vitest"
import { session, sessionId, temporaryStore } from "../../../test/fixtures/state/temporary-store.ts"
import type { TemporaryStore } from "../../../test/fixtures/state/temporary-store.ts"
import { checkHealth } from "./health.ts"

async function storeWithFreePages(): Promise<TemporaryStore> {
  const t = await temporaryStore()
  for (const id of ["kept", "deleted"]) {
    const messages = Array.from(
      { length: 300 },
      (_, index) => ({ role: "user", content: `${id} ${index} ${"word ".repeat(50)}` }) as const,
    )
    await t.store.startSession(session(id), messages, id)
  }
  await t.store.deleteSession(sessionId("deleted"))
  return t
}

test("optimizing compacts the file, and the store goes on", async () => {
  await using t = await storeWithFreePages()
  const before = t.raw((db) => Number(db.prepare("PRAGMA freelist_count").get()?.["freelist_count"]))
  const steps: string[] = []
  const writing = t.store.optimize({ progress: (progress) => progress !== undefined && steps.push(progress.step) })
  const [outcome] = await Promise.all([
    writing,
    t.store.append(sessionId("kept"), [{ role: "user", content: "meanwhile" }]),
    t.store.list(),
  ])
  expect([outcome, before > 10]).toEqual(["compacted", true])
  expect(steps).toEqual([
    "merging the search index",
    expect.stringMatching(/^rewriting the session database \(\d+ MB\)$/),
  ])
  expect((await t.store.search("meanwhile")).length).toBe(1)
  expect(await checkHealth(t.path, { scope: "full" })).toEqual({ state: "healthy", checked: "everything" })
  expect(existsSync(`${t.path}.maintenance.lock`)).toBe(false)
})

test("the file is not rewritten while another process has it open", async () => {
  await using t = await storeWithFreePages()
  await using other = await temporaryStore({ directory: t.directory })
  const size = statSync(t.path).size
  expect(await t.store.optimize()).toBe("in-use")
  expect(statSync(t.path).size).toBeGreaterThanOrEqual(size)
  await other.store.append(sessionId("kept"), [{ role: "user", content: "saved by the other" }])
  expect((await t.store.search("other")).length).toBe(1)
})

test("merging the search index leaves one segment", async () => {
  await using t = await temporaryStore()
  await t.store.createSession(session("a"))
  for (let index = 0; index < 40; index += 1) {
    await t.store.append(sessionId("a"), [{ role: "user", content: `turn ${index} ${"text ".repeat(20)}` }])
  }
  const segments = (): number =>
    t.raw((db) => Number(db.prepare("SELECT count(DISTINCT segid) AS found FROM messages_fts_idx").get()?.["found"]))
  const before = segments()
  await t.store.optimize()
  expect([before > 1, segments()]).toEqual([true, 1])
})
