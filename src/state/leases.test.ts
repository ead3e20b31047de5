import { spawnSync } from "node:child_process"
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, beforeEach, expect, test } from "vitest"
import { takeLease } from "./leases.ts"
import type { LeaseOutcome } from "./leases.ts"
import type { Clock } from "../base/clock.ts"

const clock: Clock = { now: () => 1_800_000_000_000, sleep: () => Promise.resolve() }
let home: string
let warnings: string[]

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "hermes-leases-"))
  warnings = []
})
afterEach(() => rmSync(home, { recursive: true, force: true }))

function take(id: string, limit = 1): Promise<LeaseOutcome> {
  const log = { debug: () => undefined, warning: (message: string) => void warnings.push(message) }
  return takeLease({ home, limit, id, surface: "cli", clock, log })
}

const registry = (): string => join(home, "runtime", "active_sessions.json")

test("a place is free again after its release", async () => {
  const first = await take("one")
  expect(await take("two")).toEqual({
    kind: "full",
    limit: 1,
    holders: [{ id: "one", surface: "cli", pid: process.pid, startedAt: 1_800_000_000 }],
  })
  if (first.kind === "granted") await first.release()
  expect((await take("two")).kind).toBe("granted")
  expect(JSON.parse(readFileSync(registry(), "utf8"))).toEqual({
    sessions: [{ id: "two", surface: "cli", pid: process.pid, started_at: 1_800_000_000 }],
  })
})

test("the same session does not count twice", async () => {
  await take("one")
  expect((await take("one")).kind).toBe("granted")
})

test("a holder whose process is gone is forgotten", async () => {
  const dead = spawnSync(process.execPath, ["-e", ""]).pid
  mkdirSync(join(home, "runtime"))
  writeFileSync(registry(), JSON.stringify({ sessions: [{ id: "gone", surface: "tui", pid: dead, started_at: 1 }] }))
  expect((await take("one")).kind).toBe("granted")
})

test("a registry that is no JSON grants the place and says so", async () => {
  mkdirSync(join(home, "runtime"))
  writeFileSync(registry(), "{ half")
  expect((await take("one")).kind).toBe("granted")
  expect(warnings).toEqual([`The list of running sessions ${registry()} is not readable and starts again.`])
})

test("a registry that cannot be opened grants the place", async () => {
  mkdirSync(registry(), { recursive: true })
  const outcome = await take("one")
  expect(outcome.kind).toBe("granted")
  expect(warnings).toHaveLength(1)
  if (outcome.kind === "granted") await outcome.release()
})
