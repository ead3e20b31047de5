import { readFile, readdir, stat } from "node:fs/promises"
import { join } from "node:path"
import { expect, test } from "vitest"
import { PATCH_SCENARIOS } from "../../../../test/fixtures/tools/patch-scenarios.ts"
import { toolBench } from "../../../../test/fixtures/tools/tool-bench.ts"
import { patch } from "../patch.ts"

test.each(PATCH_SCENARIOS)("$what", async ({ files, patch: text, changed = {}, refused }) => {
  await using bench = await toolBench({ workFiles: files })
  const answer = await bench.call(patch, { mode: "patch", patch: text })
  expect(answer).toMatchObject(refused === undefined ? { success: true } : { error: expect.stringMatching(refused) })
  const expected = Object.entries({ ...files, ...changed }).filter(([, content]) => content !== null)
  expect(await filesIn(bench.home.workdir)).toEqual(Object.fromEntries(expected))
})

async function filesIn(directory: string): Promise<Readonly<Record<string, string>>> {
  const names = await readdir(directory, { recursive: true })
  const entries = await Promise.all(
    names.map(async (name) => {
      const path = join(directory, name)
      return (await stat(path)).isFile() ? [[name, await readFile(path, "utf8")] as const] : []
    }),
  )
  return Object.fromEntries(entries.flat())
}
