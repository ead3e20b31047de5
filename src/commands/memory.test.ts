import { mkdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { expect, test } from "vitest"

import { temporaryHome, type TemporaryHome } from "../../test/support/temporary-home.ts"
import { environmentFrom } from "../config/environment.ts"
import { resolveHome } from "../config/home.ts"
import { systemClock } from "../base/clock.ts"
import { loadConfig } from "../config/load.ts"
import type { MemoryWrite } from "../knowledge/memory/memory-edit.ts"
import { memoryPaths } from "../knowledge/memory/memory-file.ts"
import { listStagedWrites, stageWrite } from "../knowledge/memory/staged-writes.ts"
import { memoryCommand } from "./memory.ts"
import type { SlashContext } from "./slash-command.ts"

async function said(place: TemporaryHome, argument: string): Promise<string> {
  const environment = environmentFrom(place.env)
  const home = resolveHome(environment)
  const config = await loadConfig({ home, environment })
  const outcome = await memoryCommand.run(argument, {
    app: { config, home, clock: systemClock },
  } as unknown as SlashContext)
  return outcome.kind === "say" ? outcome.text : outcome.kind
}

/** Stages one after the other and gives the ids. */
function stage(place: TemporaryHome, writes: readonly MemoryWrite[]): readonly string[] {
  let now = 0
  const clock = { now: () => (now += 1000), sleep: () => Promise.resolve() }
  return writes.map((write) => {
    const staged = stageWrite(memoryPaths(place.path).stagingPath, write, clock)
    return staged.ok ? staged.value : staged.error
  })
}

const FILES = { "memories/MEMORY.md": "uses npm\n§\nbuilds\nwith make", "memories/USER.md": "likes tea" }
const WRITES: readonly MemoryWrite[] = [
  { action: "add", target: "user", content: "likes milk" },
  { action: "replace", target: "memory", oldText: "npm", content: "uses pnpm" },
  { action: "remove", target: "memory", oldText: "gone" },
]

test("shows both files and what waits", async () => {
  await using place = await temporaryHome({ files: FILES })
  const shown = [
    "MEMORY.md  1% — 27/2,200 chars, 2 entries",
    "  - uses npm",
    "  - builds with make",
    "USER.md  0% — 9/1,375 chars, 1 entry",
    "  - likes tea",
  ]
  expect(await said(place, "")).toBe(shown.join("\n"))
  expect(await said(place, "pending")).toBe("No change waits for you.")
  const ids = stage(place, WRITES)
  const waiting = [
    "Waiting for you:",
    `  ${ids[0]}  add to user: likes milk`,
    `  ${ids[1]}  replace "npm" in memory by: uses pnpm`,
    `  ${ids[2]}  remove "gone" from memory`,
    "Decide with /memory approve ID or all, /memory discard ID or all.",
  ]
  expect(await said(place, "show")).toBe([...shown, ...waiting].join("\n"))
  expect(await said(place, "pending")).toBe(waiting.join("\n"))
})

test("a change is approved or discarded by its id, or all of them", async () => {
  await using place = await temporaryHome({ files: FILES, config: "memory:\n  write_approval: true\n" })
  const ids = stage(place, WRITES)
  expect(await said(place, `approve ${ids[0]}`)).toBe("Done: add to user: likes milk")
  expect(await said(place, "approve all")).toBe(
    'Done: replace "npm" in memory by: uses pnpm\nNot done: remove "gone" from memory (no entry contains "gone")',
  )
  expect(readFileSync(join(place.path, "memories/USER.md"), "utf8")).toBe("likes tea\n§\nlikes milk")
  expect(await said(place, "approve nope")).toBe("No change with the id nope waits. /memory pending lists them.")
  expect(await said(place, "reject all")).toBe('Discarded: remove "gone" from memory')
  expect([await said(place, "discard all"), listStagedWrites(memoryPaths(place.path).stagingPath)]).toEqual([
    "No change waits for you.",
    [],
  ])
})

test("a file that cannot be used is explained; anything else gets the usage", async () => {
  await using place = await temporaryHome()
  const path = join(place.path, "memories", "MEMORY.md")
  mkdirSync(path, { recursive: true })
  expect((await said(place, "")).split("\n")[0]).toBe(
    `MEMORY.md: ${path} could not be read: it is not a regular file; move it away`,
  )
  const usage = "Use /memory, /memory pending, /memory approve ID or all, /memory discard ID or all."
  expect([await said(place, "sing"), await said(place, "approve"), await said(place, "discard a b")]).toEqual([
    usage,
    usage,
    usage,
  ])
  expect(await said(place, "approval on")).toContain("memory.write_approval")
})
