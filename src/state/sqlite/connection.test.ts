import { DatabaseSync } from "node:sqlite"
import { expect, test, vi } from "vitest"
import { systemClock } from "../../base/clock.ts"
import { expectedTotals, holdLock, runWriters, totals } from "../../../test/fixtures/state/contention.ts"
import { recordingLogger, session, sessionId, temporaryStore } from "../../../test/fixtures/state/temporary-store.ts"
import { openSqliteStore } from "./open-store.ts"

const LONGEST_PAUSE_MS = 50

test("ten processes write at once without losing messages, counts or seeing an error", async () => {
  const options = { writers: 10, messages: 200 }
  await using t = await temporaryStore()
  const results = await runWriters(t.path, options)
  expect(results).toEqual(results.map(() => ({ code: 0, stderr: "" })))
  expect(totals(t)).toEqual(expectedTotals(options))
})

test("a lock held by another process for a second never blocks this thread", async () => {
  await using t = await temporaryStore()
  await t.store.createSession(session("a"))
  const store = await openSqliteStore({ path: t.path, clock: systemClock, log: recordingLogger() })
  // A busy machine can delay any timer, but a blocked thread is late in every round.
  let longest = Infinity
  for (let round = 0; round < 3 && longest > LONGEST_PAUSE_MS; round += 1) longest = await longestPause(round)
  await store.close()
  expect(longest).toBeLessThanOrEqual(LONGEST_PAUSE_MS)

  async function longestPause(round: number): Promise<number> {
    const lock = holdLock(t.path, 1000)
    await lock.held
    let last = performance.now()
    let pause = 0
    const ticker = setInterval(() => {
      pause = Math.max(pause, performance.now() - last)
      last = performance.now()
    }, 5)
    const started = performance.now()
    await store.append(sessionId("a"), [{ role: "user", content: `round ${round}` }])
    const waited = performance.now() - started
    clearInterval(ticker)
    await lock.done
    expect(waited).toBeGreaterThan(300)
    return pause
  }
})

test("reads work while a write waits, and writes keep their order", async () => {
  await using t = await temporaryStore()
  await t.store.createSession(session("a"))
  const holder = new DatabaseSync(t.path)
  holder.exec("BEGIN IMMEDIATE")
  const store = await openSqliteStore({ path: t.path, clock: systemClock, log: recordingLogger() })
  const order: number[] = []
  const writes = [1, 2, 3].map(async (index) => {
    await store.append(sessionId("a"), [{ role: "user", content: String(index) }])
    order.push(index)
  })
  expect(await store.messages(sessionId("a"))).toEqual([])
  expect(order).toEqual([])
  holder.exec("COMMIT")
  holder.close()
  await Promise.all(writes)
  expect(order).toEqual([1, 2, 3])
  expect((await store.messages(sessionId("a"))).map((row) => row.text)).toEqual(["1", "2", "3"])
  await store.close()
})

test("a lock that is never released is an error after fifteen attempts of one second", async () => {
  await using t = await temporaryStore()
  const holder = new DatabaseSync(t.path)
  holder.exec("BEGIN IMMEDIATE")
  let slept = 0
  const clock = {
    now: () => 0,
    sleep: (milliseconds: number) => {
      slept += milliseconds
      return Promise.resolve()
    },
  }
  const store = await openSqliteStore({ path: t.path, clock, log: recordingLogger() })
  await expect(store.createSession(session("a"))).rejects.toMatchObject({ kind: "locked" })
  expect(slept).toBeGreaterThan(15_000)
  expect(slept).toBeLessThan(18_000)
  holder.close()
  await store.close()
})

test("the write-ahead log stays bounded", async () => {
  await using t = await temporaryStore()
  await t.store.createSession(session("a"))
  for (let turn = 0; turn < 120; turn += 1) {
    await t.store.append(sessionId("a"), [{ role: "user", content: `${turn} ${"filler ".repeat(20_000)}` }])
  }
  expect((await t.store.stats()).walBytes).toBeLessThan(24 * 1024 * 1024)
})

test("writes of the same moment share a transaction, and one that fails undoes only itself", async () => {
  await using t = await temporaryStore()
  await Promise.all(["a", "b", "c"].map((name) => t.store.createSession(session(name))))
  const commits = vi.spyOn(DatabaseSync.prototype, "exec")
  const results = await Promise.allSettled([
    t.store.append(sessionId("a"), [{ role: "user", content: "one" }]),
    t.store.append(sessionId("missing"), [{ role: "user", content: "two" }]),
    t.store.append(sessionId("b"), [{ role: "user", content: "three" }]),
  ])
  const transactions = commits.mock.calls.filter(([sql]) => sql === "COMMIT").length
  commits.mockRestore()
  expect(results.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"])
  expect(transactions).toBe(1)
  const stored = await Promise.all(["a", "b"].map((name) => t.store.messages(sessionId(name))))
  expect(stored.map((messages) => messages.length)).toEqual([1, 1])
})
