import { spawnSync } from "node:child_process"
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, beforeEach, expect, test } from "vitest"
import { acquireLease } from "./leases.ts"
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

function acquire(id: string, limit = 1): Promise<LeaseOutcome> {
  const log = { debug: () => undefined, warning: (message: string) => void warnings.push(message) }
  return acquireLease({ home, limit, id, surface: "cli", clock, log })
}

const registry = (): string => join(home, "runtime", "active_sessions.json")

test("a slot is free again after its release", async () => {
  const first = await acquire("one")
  expect(await acquire("two")).toEqual({
    kind: "full",
    limit: 1,
    holders: [{ id: "one", surface: "cli", pid: process.pid, startedAt: 1_800_000_000 }],
  })
  if (first.kind === "granted") await first.release()
  expect((await acquire("two")).kind).toBe("granted")
  expect(JSON.parse(readFileSync(registry(), "utf8"))).toEqual({
    entries: [
      {
        lease_id: expect.stringMatching(/^[0-9a-f]{16,}$/),
        session_id: "two",
        surface: "cli",
        pid: process.pid,
        process_start_time: null,
        started_at: 1_800_000_000,
        updated_at: 1_800_000_000,
      },
    ],
  })
})

test("the same session does not count twice", async () => {
  await acquire("one")
  expect((await acquire("one")).kind).toBe("granted")
})

test("a holder whose process has exited does not count", async () => {
  const dead = spawnSync(process.execPath, ["-e", ""]).pid
  mkdirSync(join(home, "runtime"))
  const entries = [{ lease_id: "x", session_id: "gone", surface: "tui", pid: dead, started_at: 1 }]
  writeFileSync(registry(), JSON.stringify({ entries }))
  expect((await acquire("one")).kind).toBe("granted")
})

test("a session of the Python edition counts, and its entry stays as it was", async () => {
  const entry = {
    lease_id: "8f",
    session_id: "20260101_120000_abcdef",
    surface: "desktop",
    pid: process.pid,
    process_start_time: 1767268800.25,
    started_at: 1767268801.5,
    updated_at: 1767268801.5,
    track_liveness: true,
    metadata: { live_session_id: "z" },
  }
  mkdirSync(join(home, "runtime"))
  writeFileSync(registry(), JSON.stringify({ entries: [entry] }))
  expect(await acquire("one")).toMatchObject({ kind: "full", holders: [{ id: entry.session_id, surface: "desktop" }] })
  expect((await acquire("one", 2)).kind).toBe("granted")
  const stored = JSON.parse(readFileSync(registry(), "utf8")) as { entries: unknown[] }
  expect([stored.entries.length, stored.entries[0]]).toEqual([2, entry])
})

test("an invalid registry grants the lease and logs a warning", async () => {
  mkdirSync(join(home, "runtime"))
  writeFileSync(registry(), "{ half")
  expect((await acquire("one")).kind).toBe("granted")
  expect(warnings).toEqual([
    `The list of running sessions in ${registry()} is not valid. It is replaced by an empty one.`,
  ])
})

test("an unreadable registry grants the lease and logs a warning", async () => {
  mkdirSync(registry(), { recursive: true })
  const outcome = await acquire("one")
  expect(outcome.kind).toBe("granted")
  expect(warnings).toHaveLength(1)
  if (outcome.kind === "granted") await outcome.release()
})
