import { expect, test } from "vitest"

import { createEventStore } from "./event-store.ts"

const message = (id: number, text = "") => ({ jsonrpc: "2.0" as const, id, result: { text } })

async function replay(store: ReturnType<typeof createEventStore>, after: string): Promise<readonly unknown[]> {
  const received: unknown[] = []
  await store.replayEventsAfter(after, {
    send: (_id, event) => {
      received.push(event)
      return Promise.resolve()
    },
  })
  return received
}

test("a client receives what it missed of its stream, and nothing of others", async () => {
  const store = createEventStore()
  const first = await store.storeEvent("a", message(1))
  await store.storeEvent("b", message(2))
  await store.storeEvent("a", message(3))
  expect(await replay(store, first)).toEqual([message(3)])
  expect(await store.getStreamIdForEventId?.(first)).toBe("a")
})

test("old events are dropped, and a client that is too far behind learns it", async () => {
  const store = createEventStore()
  const first = await store.storeEvent("a", message(1))
  for (let count = 0; count < 5; count += 1) await store.storeEvent("a", message(count, "x".repeat(1_000_000)))
  await expect(replay(store, first)).rejects.toThrow("no longer stored")
})
