import { expect, test } from "vitest"

import { temporaryHome } from "../../../test/support/temporary-home.ts"
import { createLogger } from "../../base/logger.ts"
import { downloadChanges } from "./download-changes.ts"
import { LIST_SCRIPT } from "./sync-scripts.ts"

test("downloads at most 2 GiB, and only files below the synced paths", async () => {
  await using home = await temporaryHome()
  const lines: string[] = []
  const requested: string[] = []
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
  await downloadChanges({
    paths: { home: home.path, directories: ["skills"], caches: ["cache/images"], files: [], except: [] },
    base: "/there/.hermes",
    workspaceName: "test workspace",
    runScript: (script, args) => {
      if (script === LIST_SCRIPT) return Promise.resolve(Buffer.from(listing))
      requested.push(...args.slice(4))
      return Promise.resolve(Buffer.from("0\n"))
    },
    log: createLogger({ redact: (text) => text, sinks: [{ level: "WARNING", write: (line) => lines.push(line) }] }),
    signal: new AbortController().signal,
    uploaded: new Map(),
    preexisting: new Set(),
    includeNew: true,
  })
  expect([requested, lines]).toEqual([
    ["./cache/images/small"],
    [expect.stringContaining("skipped 1 changed files in test workspace")],
  ])
})
