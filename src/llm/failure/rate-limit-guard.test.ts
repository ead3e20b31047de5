import { readFile } from "node:fs/promises"
import { join } from "node:path"

import { expect, test } from "vitest"

import { temporaryHome } from "../../../test/support/temporary-home.ts"
import { createLogger } from "../../base/logger.ts"
import { environmentFrom } from "../../config/environment.ts"
import { homeAt } from "../../config/home.ts"
import { openRateLimitGuard } from "./rate-limit-guard.ts"

async function places(files: Readonly<Record<string, string>> = {}) {
  const place = await temporaryHome({ files })
  const home = homeAt(place.path, environmentFrom({}))
  let now = 1_000_000
  const clock = { now: () => now, sleep: () => Promise.resolve() }
  const lines: string[] = []
  const sink = { level: "WARNING", write: (line: string) => void lines.push(line) } as const
  const log = createLogger({ sinks: [sink], redact: (text) => text })
  return {
    open: () => openRateLimitGuard("nous", { home, clock, log }),
    lines,
    file: join(place.path, "rate_limits", "nous.json"),
    pass: (ms: number) => (now += ms),
    [Symbol.asyncDispose]: () => place[Symbol.asyncDispose](),
  }
}

test("what one process was told, every process knows until it is over", async () => {
  await using place = await places()
  const [one, other] = [place.open(), place.open()]
  expect(other.restsUntil()).toBeUndefined()
  one.record(120)
  expect(JSON.parse(await readFile(place.file, "utf8"))).toEqual({
    reset_at: 1120,
    recorded_at: 1000,
    reset_seconds: 120,
  })
  expect(other.restsUntil()).toBe(1120)
  place.pass(120_000)
  expect(other.restsUntil()).toBeUndefined()
})

test("a time nobody named is five minutes; an answer clears it", async () => {
  await using place = await places()
  const guard = place.open()
  guard.record(0)
  expect(guard.restsUntil()).toBe(1300)
  guard.clear()
  expect(guard.restsUntil()).toBeUndefined()
  guard.clear()
  expect(place.lines).toEqual([])
})

test.each(["", "{", "[]", '{"reset_at":"soon"}'])("a file with %j says nothing", async (text) => {
  await using place = await places({ "rate_limits/nous.json": text })
  expect(place.open().restsUntil()).toBeUndefined()
})

test("a file that cannot be written is only logged", async () => {
  await using place = await places({ rate_limits: "a file where the folder should be" })
  const guard = place.open()
  guard.record(120)
  expect(guard.restsUntil()).toBeUndefined()
  expect(place.lines).toEqual([expect.stringContaining("the used-up limit of nous could not be kept")])
})
