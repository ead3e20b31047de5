import { spawn } from "node:child_process"
import { mkdirSync, readdirSync, writeFileSync } from "node:fs"
import { hostname } from "node:os"

import { expect, test } from "vitest"

import { temporaryHome } from "../../../test/support/temporary-home.ts"
import { processStartTime } from "../../base/process-alive.ts"
import { environmentFrom } from "../../config/environment.ts"
import { resolveHome } from "../../config/home.ts"
import { toSessionId } from "../../protocol/identifiers.ts"
import { createPresence, findOtherProcess } from "./open-session-marker.ts"

const ID = toSessionId("20260101_000000_abcdef")

test("a session is open elsewhere as long as the other process lives", async () => {
  await using testHome = await temporaryHome()
  const home = resolveHome(environmentFrom(testHome.env))
  const own = createPresence(home, ID)
  own.show()
  expect(findOtherProcess(home, ID)).toBeUndefined()

  const other = spawn("sleep", ["60"])
  const pid = other.pid ?? 0
  const marker = { pid, start: processStartTime(pid), host: hostname() }
  writeFileSync(home.file("cache", "open-sessions", `${ID}.${pid}.json`), JSON.stringify(marker))
  expect(findOtherProcess(home, ID)).toBe(pid)
  expect(findOtherProcess(home, toSessionId("20260101_000000_other"))).toBeUndefined()

  const gone = new Promise((resolve) => other.once("exit", resolve))
  other.kill("SIGKILL")
  await gone
  expect(findOtherProcess(home, ID)).toBeUndefined()
  own.follow(toSessionId("20260101_000001_child"))
  own.leave()
  expect(readdirSync(home.file("cache", "open-sessions"))).toEqual([])
})

test("a session that the Python edition has registered is open there", async () => {
  await using testHome = await temporaryHome()
  const home = resolveHome(environmentFrom(testHome.env))
  const other = spawn("sleep", ["60"])
  const pid = other.pid ?? 0
  mkdirSync(home.file("runtime"))
  const entries = [
    { lease_id: "a", session_id: "another", surface: "cli", pid: process.ppid },
    { lease_id: "b", session_id: ID, surface: "cli", pid: process.pid },
    { lease_id: "c", session_id: ID, surface: "desktop", pid },
  ]
  writeFileSync(home.file("runtime", "active_sessions.json"), JSON.stringify({ entries }))
  expect(findOtherProcess(home, ID)).toBe(pid)
  const gone = new Promise((resolve) => other.once("exit", resolve))
  other.kill("SIGKILL")
  await gone
  expect(findOtherProcess(home, ID)).toBeUndefined()
})

test("a home that cannot be written keeps no session from running", async () => {
  await using testHome = await temporaryHome({ files: { "cache/open-sessions": "a file instead of a directory" } })
  const home = resolveHome(environmentFrom(testHome.env))
  const own = createPresence(home, ID)
  own.show()
  own.leave()
  expect(findOtherProcess(home, ID)).toBeUndefined()
})
