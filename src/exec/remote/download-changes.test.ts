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
    "skills/a": 2,
    "cache/images": 2,
  }
  const names = Object.entries(sizes)
  const listing = `${names.map(([path]) => `${"a".repeat(64)}  ${path}\n`).join("")}\u001E${names.map(([path, size]) => `${size} ${path}\n`).join("")}`
  await downloadChanges({
    paths: {
      home: home.path,
      directories: ["skills"],
      caches: ["cache/images"],
      files: ["auth.json", "skills/a"],
      provided: [],
      except: [],
      neverDownloaded: ["auth.json", "skills"],
    },
    base: "/there/.hermes",
    workspaceName: "test workspace",
    runScript: (script, args) => {
      if (script === LIST_SCRIPT) return Promise.resolve(Buffer.from(listing))
      requested.push(...args.slice(4))
      return Promise.resolve(Buffer.from("0\n"))
    },
    log: createLogger({ redact: (text) => text, sinks: [{ level: "WARNING", write: (line) => lines.push(line) }] }),
    signal: new AbortController().signal,
    uploaded: new Map(
      ["auth.json", "skills/a"].map((path) => [path, { size: 1, modifiedMs: 1, hash: "b".repeat(64) }]),
    ),
    preexisting: new Set(),
    includeNew: true,
  })
  expect([requested, lines]).toEqual([
    ["./cache/images/small"],
    [expect.stringContaining("skipped 1 changed files in test workspace")],
  ])
})

test("a workspace that sends more data than it announced is cut off", async () => {
  await using home = await temporaryHome()
  const path = "cache/images/small"
  let parts = 0
  const download = downloadChanges({
    paths: {
      home: home.path,
      directories: [],
      caches: ["cache/images"],
      files: [],
      provided: [],
      except: [],
      neverDownloaded: [],
    },
    base: "/there/.hermes",
    workspaceName: "test workspace",
    runScript: (script) => {
      if (script === LIST_SCRIPT) return Promise.resolve(Buffer.from(`${"a".repeat(64)}  ${path}\n\u001E2 ${path}\n`))
      parts += 1
      return Promise.resolve(Buffer.concat([Buffer.from(`${10 ** 12}\n`), Buffer.alloc(1024)]))
    },
    log: createLogger({ redact: (text) => text, sinks: [] }),
    signal: new AbortController().signal,
    uploaded: new Map(),
    preexisting: new Set(),
    includeNew: true,
  })
  await expect(download).rejects.toThrow("more data than it had announced")
  expect(parts).toBe(1)
})
