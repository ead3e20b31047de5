import { mkdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { expect, test } from "vitest"

import { temporaryHome, type TemporaryHome } from "../../test/support/temporary-home.ts"
import { environmentFrom } from "../config/environment.ts"
import { resolveHome } from "../config/home.ts"
import { systemClock } from "../base/clock.ts"
import { loadConfig } from "../config/load-config.ts"
import type { MemoryWrite } from "../knowledge/memory/memory-edit.ts"
import { memoryPaths } from "../knowledge/memory/memory-file.ts"
import { listStagedWrites, stageWrite } from "../knowledge/memory/staged-writes.ts"
import { memoryCommand } from "./memory.ts"
import type { SlashContext } from "./slash-command.ts"

async function runMemory(temporary: TemporaryHome, argument: string, confirms?: boolean): Promise<string> {
  const environment = environmentFrom(temporary.env)
  const home = resolveHome(environment)
  const config = await loadConfig({ home, environment })
  const outcome = await memoryCommand.run(argument, {
    app: { config, home, environment, clock: systemClock },
    ...(confirms === undefined ? {} : { confirm: () => Promise.resolve(confirms) }),
  } as unknown as SlashContext)
  return outcome.kind === "reply" ? outcome.text : outcome.kind
}

/** Stages the writes in order and returns their ids. */
function stage(temporary: TemporaryHome, writes: readonly MemoryWrite[]): readonly string[] {
  let now = 0
  const clock = { now: () => (now += 1000), sleep: () => Promise.resolve() }
  return writes.map((write) => {
    const staged = stageWrite(memoryPaths(temporary.path).stagingPath, write, clock)
    return staged.ok ? staged.value : staged.error
  })
}

const FILES = { "memories/MEMORY.md": "uses npm\n§\nbuilds\nwith make", "memories/USER.md": "likes tea" }
const WRITES: readonly MemoryWrite[] = [
  { action: "add", target: "user", content: "likes milk" },
  { action: "replace", target: "memory", oldText: "npm", content: "uses pnpm" },
  { action: "remove", target: "memory", oldText: "gone" },
]

test("shows both files and pending changes", async () => {
  await using temporary = await temporaryHome({ files: FILES })
  const shown = [
    "MEMORY.md  1% — 27/2,200 chars, 2 entries",
    "  - uses npm",
    "  - builds with make",
    "USER.md  0% — 9/1,375 chars, 1 entry",
    "  - likes tea",
  ]
  expect(await runMemory(temporary, "")).toBe(shown.join("\n"))
  expect(await runMemory(temporary, "pending")).toBe("There are no pending changes.")
  const ids = stage(temporary, WRITES)
  const pending = [
    "Pending changes:",
    `  ${ids[0]}  add to user: likes milk`,
    `  ${ids[1]}  replace "npm" in memory with: uses pnpm`,
    `  ${ids[2]}  remove "gone" from memory`,
    "Decide with /memory approve ID or all, /memory reject ID or all.",
  ]
  expect(await runMemory(temporary, "show")).toBe([...shown, ...pending].join("\n"))
  expect(await runMemory(temporary, "pending")).toBe(pending.join("\n"))
})

test("approves or discards a change by its id, or all changes", async () => {
  await using temporary = await temporaryHome({ files: FILES, config: "memory:\n  write_approval: true\n" })
  const ids = stage(temporary, WRITES)
  expect(await runMemory(temporary, `approve ${ids[0]}`)).toBe("Done: add to user: likes milk")
  expect(await runMemory(temporary, "approve all")).toBe(
    'Done: replace "npm" in memory with: uses pnpm\nFailed: remove "gone" from memory (no entry contains "gone")',
  )
  expect(readFileSync(join(temporary.path, "memories/USER.md"), "utf8")).toBe("likes tea\n§\nlikes milk")
  expect(await runMemory(temporary, "approve nope")).toBe(
    "There is no pending change nope. /memory pending lists them.",
  )
  expect(await runMemory(temporary, "reject all")).toBe('Discarded: remove "gone" from memory')
  expect([
    await runMemory(temporary, "discard all"),
    listStagedWrites(memoryPaths(temporary.path).stagingPath),
  ]).toEqual(["There are no pending changes.", []])
})

test("explains an unusable file, and shows the usage for an invalid argument", async () => {
  await using temporary = await temporaryHome()
  const path = join(temporary.path, "memories", "MEMORY.md")
  mkdirSync(path, { recursive: true })
  expect((await runMemory(temporary, "")).split("\n")[0]).toBe(
    `MEMORY.md: ${path} could not be read: it is not a regular file; move it away`,
  )
  const usage =
    "Usage: /memory, /memory pending, /memory approve ID or all, /memory reject ID or all, /memory approval on or off."
  expect([
    await runMemory(temporary, "sing"),
    await runMemory(temporary, "approve"),
    await runMemory(temporary, "discard a b"),
  ]).toEqual([usage, usage, usage])
})

test("approval is switched in the settings; switching it off is asked about", async () => {
  await using temporary = await temporaryHome()
  const setting = (): string => readFileSync(join(temporary.path, "config.yaml"), "utf8")
  expect(await runMemory(temporary, "approval")).toMatch(/^memory\.write_approval is off\./u)
  expect(await runMemory(temporary, "approval on")).toMatch(/is now on/u)
  expect(await runMemory(temporary, "approval off", false)).toMatch(/^Nothing was changed\./u)
  expect(setting()).toContain("write_approval: true")
  expect(await runMemory(temporary, "approval off", true)).toMatch(/is now off/u)
  expect(setting()).toContain("write_approval: false")
})
