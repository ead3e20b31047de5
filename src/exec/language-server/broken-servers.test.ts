import { existsSync, mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"

import { expect, test } from "vitest"

import { temporaryHome } from "../../../test/support/temporary-home.ts"
import type { Clock } from "../../base/clock.ts"
import { createLogger } from "../../base/logger.ts"
import { BROKEN_FOR_MS, createBrokenServers, forgetBroken } from "./broken-servers.ts"

test("a failure holds for an hour in every session, for its project only, and can be forgotten", async () => {
  await using home = await temporaryHome()
  const file = join(home.path, "lsp", "broken.json")
  let now = 1000
  const clock: Clock = { now: () => now, sleep: () => Promise.resolve() }
  const log = createLogger({ sinks: [], redact: (text) => text, clock })
  const here = createBrokenServers({ file, clock, log })
  const there = createBrokenServers({ file, clock, log })
  here.add("gopls", "/a", "it ended")
  here.add("gopls", "/a", "it ended again")
  here.add("pyright", "/b", "it hung")
  expect(there.list()).toEqual([
    { server: "gopls", root: "/a", reason: "it ended again", at: 1000 },
    { server: "pyright", root: "/b", reason: "it hung", at: 1000 },
  ])
  expect([there.has("gopls", "/a"), there.has("gopls", "/b"), there.has("pyright", "/a")]).toEqual([true, false, false])
  expect([forgetBroken(file, "gopls"), forgetBroken(file, "gopls"), here.has("gopls", "/a")]).toEqual([1, 0, false])
  now += BROKEN_FOR_MS
  expect(here.list()).toEqual([])
  expect([forgetBroken(file, undefined), existsSync(file)]).toEqual([1, false])
})

test("a spoilt file names no failures, and one that cannot be written does not lose them", async () => {
  await using home = await temporaryHome()
  const file = join(home.path, "broken.json")
  const clock: Clock = { now: () => 5, sleep: () => Promise.resolve() }
  const broken = createBrokenServers({ file, clock, log: createLogger({ sinks: [], redact: (text) => text, clock }) })
  writeFileSync(file, '[{"server": 1}, "x"')
  expect([broken.list(), forgetBroken(file, undefined)]).toEqual([[], 0])
  const directory = createBrokenServers({
    file: join(home.path, "folder"),
    clock,
    log: createLogger({ sinks: [], redact: (text) => text, clock }),
  })
  mkdirSync(join(home.path, "folder"))
  directory.add("gopls", "/a", "it ended")
  expect(directory.has("gopls", "/a")).toBe(true)
})
