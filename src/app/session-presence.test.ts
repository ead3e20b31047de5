import { spawn } from "node:child_process"
import { readdirSync, writeFileSync } from "node:fs"
import { hostname } from "node:os"

import { expect, test } from "vitest"

import { temporaryHome } from "../../test/support/temporary-home.ts"
import { processStart } from "../base/process-alive.ts"
import { environmentFrom } from "../config/environment.ts"
import { resolveHome } from "../config/home.ts"
import { toSessionId } from "../protocol/identifiers.ts"
import { createPresence, openElsewhere } from "./session-presence.ts"

const ID = toSessionId("20260101_000000_abcdef")

test("a session is open elsewhere as long as the other process lives", async () => {
  await using place = await temporaryHome()
  const home = resolveHome(environmentFrom(place.env))
  const own = createPresence(home, ID)
  own.show()
  expect(openElsewhere(home, ID)).toBeUndefined()

  const other = spawn("sleep", ["60"])
  const pid = other.pid ?? 0
  const sign = { pid, start: processStart(pid), host: hostname() }
  writeFileSync(home.file("cache", "open-sessions", `${ID}.${pid}.json`), JSON.stringify(sign))
  expect(openElsewhere(home, ID)).toBe(pid)
  expect(openElsewhere(home, toSessionId("20260101_000000_other"))).toBeUndefined()

  const gone = new Promise((resolve) => other.once("exit", resolve))
  other.kill("SIGKILL")
  await gone
  expect(openElsewhere(home, ID)).toBeUndefined()
  own.follow(toSessionId("20260101_000001_child"))
  own.leave()
  expect(readdirSync(home.file("cache", "open-sessions"))).toEqual([])
})

test("a home that cannot be written keeps nobody from talking", async () => {
  await using place = await temporaryHome({ files: { "cache/open-sessions": "a file in the way" } })
  const home = resolveHome(environmentFrom(place.env))
  const own = createPresence(home, ID)
  own.show()
  own.leave()
  expect(openElsewhere(home, ID)).toBeUndefined()
})
