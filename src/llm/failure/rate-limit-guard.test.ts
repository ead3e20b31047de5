import { readFile } from "node:fs/promises"
import { join } from "node:path"

import { expect, test } from "vitest"

import { temporaryHome } from "../../../test/support/temporary-home.ts"
import { createLogger } from "../../base/logger.ts"
import { environmentFrom } from "../../config/environment.ts"
import { homeAt } from "../../config/home.ts"
import { openRateLimitGuard } from "./rate-limit-guard.ts"

async function sharedHome(files: Readonly<Record<string, string>> = {}) {
  const directory = await temporaryHome({ files })
  const home = homeAt(directory.path, environmentFrom({}))
  let now = 1_000_000
  const clock = { now: () => now, sleep: () => Promise.resolve() }
  const lines: string[] = []
  const sink = { level: "WARNING", write: (line: string) => void lines.push(line) } as const
  const log = createLogger({ sinks: [sink], redact: (text) => text })
  return {
    open: () => openRateLimitGuard("nous", { home, clock, log }),
    lines,
    file: join(directory.path, "rate_limits", "nous.json"),
    pass: (ms: number) => (now += ms),
    [Symbol.asyncDispose]: () => directory[Symbol.asyncDispose](),
  }
}

test("a limit recorded by one process is known to every process until it resets", async () => {
  await using shared = await sharedHome()
  const [one, other] = [shared.open(), shared.open()]
  expect(other.blockedUntil()).toBeUndefined()
  one.record(120)
  expect(JSON.parse(await readFile(shared.file, "utf8"))).toEqual({
    reset_at: 1120,
    recorded_at: 1000,
    reset_seconds: 120,
  })
  expect(other.blockedUntil()).toBe(1120)
  shared.pass(120_000)
  expect(other.blockedUntil()).toBeUndefined()
})

test("without a reset time the limit lasts five minutes; clear() removes it", async () => {
  await using shared = await sharedHome()
  const guard = shared.open()
  guard.record(0)
  expect(guard.blockedUntil()).toBe(1300)
  guard.clear()
  expect(guard.blockedUntil()).toBeUndefined()
  guard.clear()
  expect(shared.lines).toEqual([])
})

test.each(["", "{", "[]", '{"reset_at":"soon"}'])("a file with %j is ignored", async (text) => {
  await using shared = await sharedHome({ "rate_limits/nous.json": text })
  expect(shared.open().blockedUntil()).toBeUndefined()
})

test("a file that cannot be written is only logged", async () => {
  await using shared = await sharedHome({ rate_limits: "a file where the directory should be" })
  const guard = shared.open()
  guard.record(120)
  expect(guard.blockedUntil()).toBeUndefined()
  expect(shared.lines).toEqual([expect.stringContaining("cannot share the exhausted rate limit of nous")])
})
