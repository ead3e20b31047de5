import { afterEach, beforeEach, expect, test, vi } from "vitest"
import { Channel } from "../../base/channel.ts"
import type { AgentEventBody } from "../../protocol/events.ts"
import { createProgress } from "./progress.ts"

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

async function beats(heartbeat: boolean): Promise<readonly string[]> {
  const events = new Channel<AgentEventBody>()
  const clock = { now: () => Date.now(), sleep: () => Promise.reject(new Error("not used")) }
  const progress = createProgress("a", { events, clock, heartbeat })
  vi.advanceTimersByTime(11_000)
  progress.push("half way")
  vi.advanceTimersByTime(9000)
  progress.end()
  vi.advanceTimersByTime(60_000)
  events.close()
  return (await Array.fromAsync(events)).flatMap((event) => (event.type === "tool-progress" ? [event.text] : []))
}

test("a silent parallel call emits a heartbeat every five seconds, until it ends", async () => {
  expect(await beats(true)).toEqual([
    "[still running after 5 s]\n",
    "[still running after 10 s]\n",
    "half way",
    "[still running after 20 s]\n",
  ])
  expect(vi.getTimerCount()).toBe(0)
})

test("a sequential call has no heartbeat", async () => {
  expect(await beats(false)).toEqual(["half way"])
})
