import { expect, test } from "vitest"
import { Channel } from "./channel.ts"

test("everything pushed before the close arrives in order, independent of when the reader starts", async () => {
  const channel = new Channel<number>()
  channel.push(1)
  const seen: number[] = []
  const reading = (async () => {
    for await (const item of channel) seen.push(item)
  })()
  await Promise.resolve()
  channel.push(2)
  await new Promise((resolve) => setImmediate(resolve))
  channel.push(3)
  channel.close()
  channel.push(4)
  await reading
  expect(seen).toEqual([1, 2, 3])
})

test("unread counts what the reader has not taken yet", async () => {
  const channel = new Channel<string>()
  for (const item of ["a", "b", "c"]) channel.push(item)
  const before = channel.unread
  const reader = channel[Symbol.asyncIterator]()
  await reader.next()
  expect([before, channel.unread]).toEqual([3, 2])
})

test("a reader that stops early closes the channel", async () => {
  const channel = new Channel<number>()
  channel.push(1)
  channel.push(2)
  for await (const item of channel) if (item === 1) break
  channel.push(3)
  expect(channel.unread).toBe(0)
})
