import { mkdir, readdir, truncate, utimes, writeFile } from "node:fs/promises"
import { join } from "node:path"

import { expect, test } from "vitest"

import { createDispatchHarness } from "../../../test/fixtures/agent/dispatch-harness.ts"
import { hasSpilled, removeOldResults } from "./result-retention.ts"

const NOW = Date.parse("2026-03-10T12:00:00Z")
const HOUR = 3_600_000

test("old result files are removed, and above the size limit the oldest; recent and other files stay", async () => {
  await using harness = await createDispatchHarness([])
  const directory = harness.home.workdir
  const files = { ...harness.session.workspace.files, temporaryDirectory: () => Promise.resolve(directory) }
  const resultDirectory = join(directory, "hermes-results")
  await mkdir(resultDirectory, { recursive: true })
  const make = async (name: string, hours: number, bytes: number): Promise<void> => {
    await writeFile(join(resultDirectory, name), "")
    await truncate(join(resultDirectory, name), bytes)
    const at = new Date(NOW - hours * HOUR)
    await utimes(join(resultDirectory, name), at, at)
  }
  await make("today-huge.txt", 2, 400_000_000)
  await make("yesterday.txt", 30, 90_000_000)
  await make("too-much.txt", 50, 20_000_000)
  await make("eight-days.txt", 8 * 24, 10)
  await make("eight-days.log", 8 * 24, 10)
  expect(await removeOldResults(files, NOW)).toBe(2)
  expect((await readdir(resultDirectory)).toSorted()).toEqual(["eight-days.log", "today-huge.txt", "yesterday.txt"])
})

test.each([
  ["All of it is in /tmp/x/hermes-results/c1.txt", true],
  ["nothing of the kind", false],
])("%s: %s", (content, expected) => {
  expect(hasSpilled([{ role: "tool", content, tool_call_id: "c", tool_name: "t" }])).toBe(expected)
})
