import { expect, test } from "vitest"

import { manualClock } from "../../../test/support/manual-clock.ts"
import { createTestHomeContext } from "../../../test/support/home-context.ts"
import { toSessionId } from "../../protocol/identifiers.ts"
import { openSqliteStore } from "../../state/sqlite/open-store.ts"
import type { SessionStore } from "../../state/store.ts"
import { createEventQueue } from "./event-queue.ts"

const SESSION = toSessionId("20260101_100000_aaaaaa")

/** A store with one conversation, that counts how often its conversations are listed and read. */
async function openCountedStore() {
  const context = createTestHomeContext()
  const clock = manualClock()
  const store = await openSqliteStore({ path: context.home.file("state.db"), clock, log: context.log })
  await store.createSession({ id: SESSION, source: "cli", startedAt: clock.now() / 1000 })
  const counts = { lists: 0, reads: 0 }
  const counted: SessionStore = {
    ...store,
    messages: async (id) => {
      counts.reads += 1
      return await store.messages(id)
    },
    list: async (query) => {
      counts.lists += 1
      return await store.list(query)
    },
  }
  return {
    clock,
    counts,
    queue: createEventQueue(() => Promise.resolve(counted), { clock, redact: (text) => text }),
    append: async (content: string) => {
      await clock.advance(1000)
      await store.append(SESSION, [{ role: "user", content, timestamp: clock.now() / 1000 }])
    },
    [Symbol.asyncDispose]: async () => {
      await store.close()
      context[Symbol.dispose]()
    },
  }
}

test("clients that poll at the same time see each message once", async () => {
  await using opened = await openCountedStore()
  await opened.append("one")
  await opened.append("two")
  const polled = await Promise.all([1, 2, 3].map(() => opened.queue.poll({ after: 0, limit: 20 })))
  for (const { events } of polled)
    expect(events.map(({ cursor, content }) => [cursor, content])).toEqual([
      [1, "one"],
      [2, "two"],
    ])
})

test("a poll sees what was stored before it, also when another one is being answered", async () => {
  await using opened = await openCountedStore()
  const first = opened.queue.poll({ after: 0, limit: 20 })
  await opened.append("one")
  expect((await opened.queue.poll({ after: 0, limit: 20 })).events).toHaveLength(1)
  await first
})

test("a conversation is read again only when it has changed", async () => {
  await using opened = await openCountedStore()
  const poll = async (): Promise<number> => (await opened.queue.poll({ after: 0, limit: 20 })).events.length
  await opened.append("one")
  expect([await poll(), await poll(), await poll()]).toEqual([1, 1, 1])
  expect(opened.counts.reads).toBe(1)
  await opened.append("two")
  expect([await poll(), opened.counts.reads]).toEqual([2, 2])
})

test("many clients that wait read the store as often as one", async () => {
  await using opened = await openCountedStore()
  const { queue, clock, counts } = opened
  const signal = new AbortController().signal
  const waiting = Array.from({ length: 50 }, () => queue.wait({ after: 0, limit: 1, timeoutMs: 10_000, signal }))
  await expect.poll(() => clock.nextWakeTime()).toBeDefined()
  await clock.advance(2000)
  expect(counts.lists).toBeLessThan(20)
  await opened.append("one")
  await clock.advance(1000)
  expect((await Promise.all(waiting)).map((event) => event?.content)).toEqual(waiting.map(() => "one"))
})
