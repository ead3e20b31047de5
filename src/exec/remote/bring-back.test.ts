import { expect, test } from "vitest"

import { createLogger } from "../../base/logger.ts"
import { temporaryHome } from "../../../test/support/temporary-home.ts"
import { bringBack } from "./bring-back.ts"
import { LIST_SCRIPT } from "./sync-scripts.ts"

test("more than 2 GiB stays where it is, and what a place names is asked for only where it may come from", async () => {
  await using home = await temporaryHome()
  const lines: string[] = []
  const asked: string[] = []
  const sizes = {
    "cache/images/huge": 3 * 1024 ** 3,
    "cache/images/small": 2,
    "cache/images/../../../escape": 2,
    "/etc/passwd": 2,
    "cache/remote-sync/x": 2,
    "auth.json": 2,
  }
  const names = Object.entries(sizes)
  const listing = `${names.map(([path]) => `${"a".repeat(64)}  ${path}\n`).join("")}\u001E${names.map(([path, size]) => `${size} ${path}\n`).join("")}`
  await bringBack({
    places: { home: home.path, directories: ["skills"], caches: ["cache/images"], files: [], except: [] },
    base: "/there/.hermes",
    placeName: "test place",
    ask: (script, args) => {
      if (script === LIST_SCRIPT) return Promise.resolve(Buffer.from(listing))
      asked.push(...args.slice(4))
      return Promise.resolve(Buffer.from("0\n"))
    },
    log: createLogger({ redact: (text) => text, sinks: [{ level: "WARNING", write: (line) => lines.push(line) }] }),
    signal: new AbortController().signal,
    sent: new Map(),
    before: new Set(),
    takesNew: true,
  })
  expect([asked, lines]).toEqual([
    ["./cache/images/small"],
    [expect.stringContaining("1 changed files of test place are too large to be fetched")],
  ])
})
