import { expect, test } from "vitest"
import { manualClock } from "../../../test/support/manual-clock.ts"
import { createNoticeQueue } from "./notice-queue.ts"

const HELD_BACK =
  "[IMPORTANT: Background processes report too many watch pattern matches. Further matches are held back for 30 s.]"

function queue() {
  const clock = manualClock()
  const stop = new AbortController()
  const notices = createNoticeQueue({ clock, signal: stop.signal })
  const takeAll = (owner?: string): readonly string[] => {
    const taken: string[] = []
    for (let text = notices.take(owner); text !== undefined; text = notices.take(owner)) taken.push(text)
    return taken
  }
  return { clock, stop, notices, takeAll }
}

test("each notice is taken once, in order, by its owner", () => {
  const { notices, takeAll } = queue()
  for (const [owner, text] of [
    ["a", "1"],
    ["b", "2"],
    ["a", "3"],
  ] as const) {
    notices.pushMatch(owner, text)
  }
  expect([takeAll("a"), takeAll("a"), takeAll()]).toEqual([["1", "3"], [], ["2"]])
})

test("a notice that is no longer pending neither ends a wait nor is returned", async () => {
  const { notices, takeAll } = queue()
  notices.push({ owner: "a", isPending: () => false, text: () => undefined })
  const stop = new AbortController()
  const waiting = notices.waitForOne(stop.signal).then(() => "ended")
  stop.abort()
  expect([await waiting, takeAll()]).toEqual(["ended", []])
})

test("a wait ends with the first notice of its owner", async () => {
  const { notices, takeAll } = queue()
  const seen: string[] = []
  const waiting = notices.waitForOne(new AbortController().signal, "a").then(() => seen.push("woken"))
  notices.pushMatch("b", "other")
  await Promise.resolve()
  expect(seen).toEqual([])
  notices.pushMatch("a", "mine")
  await waiting
  expect(takeAll("a")).toEqual(["mine"])
})

test("from the sixteenth match within 10 seconds on, matches are held back, with a message at the start and the end", async () => {
  const { clock, notices, takeAll } = queue()
  for (let index = 0; index < 40; index += 1) notices.pushMatch("a", `m${index}`)
  expect(takeAll()).toEqual([...Array.from({ length: 15 }, (_, index) => `m${index}`), HELD_BACK])
  await clock.advance(29_999)
  notices.pushMatch("a", "still too many")
  expect(takeAll()).toEqual([])
  await clock.advance(1)
  expect(takeAll()).toEqual(["[IMPORTANT: Watch pattern matches are reported again; 26 were held back.]"])
  notices.pushMatch("a", "again")
  expect(takeAll()).toEqual(["again"])
})

test("infrequent matches are never held back", async () => {
  const { clock, notices, takeAll } = queue()
  for (let index = 0; index < 50; index += 1) {
    notices.pushMatch("a", "m")
    await clock.advance(700)
  }
  expect(takeAll()).toEqual(Array.from({ length: 50 }, () => "m"))
})

test("closing ends the cooldown without a message", async () => {
  const { stop, notices, takeAll } = queue()
  for (let index = 0; index < 16; index += 1) notices.pushMatch("a", "m")
  stop.abort()
  await notices.idle()
  expect(takeAll()).toHaveLength(16)
})
