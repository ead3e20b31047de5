import { existsSync, mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"

import { expect, test } from "vitest"

import { temporaryHome } from "../../../test/support/temporary-home.ts"
import type { Clock } from "../../base/clock.ts"
import { createLogger } from "../../base/logger.ts"
import { BROKEN_FOR_MS, createBrokenServers, clearBrokenServers } from "./broken-servers.ts"

test("a failure applies for an hour, in every session, to its project only, and can be cleared", async () => {
  await using home = await temporaryHome()
  const file = join(home.path, "lsp", "broken.json")
  let now = 1000
  const clock: Clock = { now: () => now, sleep: () => Promise.resolve() }
  const log = createLogger({ sinks: [], redact: (text) => text, clock })
  const first = createBrokenServers({ file, clock, log })
  const second = createBrokenServers({ file, clock, log })
  first.add("gopls", "/a", "it ended")
  first.add("gopls", "/a", "it ended again")
  first.add("pyright", "/b", "it hung")
  expect(second.list()).toEqual([
    { server: "gopls", root: "/a", reason: "it ended again", at: 1000 },
    { server: "pyright", root: "/b", reason: "it hung", at: 1000 },
  ])
  expect([second.has("gopls", "/a"), second.has("gopls", "/b"), second.has("pyright", "/a")]).toEqual([
    true,
    false,
    false,
  ])
  expect([clearBrokenServers(file, "gopls"), clearBrokenServers(file, "gopls"), first.has("gopls", "/a")]).toEqual([
    1,
    0,
    false,
  ])
  now += BROKEN_FOR_MS
  expect(first.list()).toEqual([])
  expect([clearBrokenServers(file, undefined), existsSync(file)]).toEqual([1, false])
})

test("a damaged file contains no failures, and failures survive in memory if the file cannot be written", async () => {
  await using home = await temporaryHome()
  const file = join(home.path, "broken.json")
  const clock: Clock = { now: () => 5, sleep: () => Promise.resolve() }
  const broken = createBrokenServers({ file, clock, log: createLogger({ sinks: [], redact: (text) => text, clock }) })
  writeFileSync(file, '[{"server": 1}, "x"')
  expect([broken.list(), clearBrokenServers(file, undefined)]).toEqual([[], 0])
  const directory = createBrokenServers({
    file: join(home.path, "folder"),
    clock,
    log: createLogger({ sinks: [], redact: (text) => text, clock }),
  })
  mkdirSync(join(home.path, "folder"))
  directory.add("gopls", "/a", "it ended")
  expect(directory.has("gopls", "/a")).toBe(true)
})
