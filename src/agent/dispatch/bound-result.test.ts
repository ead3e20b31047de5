import { readFile } from "node:fs/promises"
import { join } from "node:path"
import { expect, test } from "vitest"
import { dispatchBench } from "../../../test/fixtures/agent/dispatch-bench.ts"
import { spillText } from "./bound-result.ts"

test("a whole text is kept where it can be read, under the name of its call, never over an earlier one", async () => {
  await using bench = await dispatchBench([])
  const { workspace } = bench.options
  const files = { ...workspace.files, temporaryDirectory: () => Promise.resolve(bench.place.workdir) }
  const options = { workspace: { ...workspace, files } }
  const first = await spillText("one", "call/../1", options)
  const second = await spillText("two", "call/../1", options)
  expect([first, second]).toEqual(
    ["call____1.txt", "call____1-2.txt"].map((name) => join(bench.place.workdir, "hermes-results", name)),
  )
  expect([await readFile(first!, "utf8"), await readFile(second!, "utf8")]).toEqual(["one", "two"])
})

test("a place that cannot be written to gives no path", async () => {
  await using bench = await dispatchBench([])
  const { workspace } = bench.options
  const files = { ...workspace.files, write: () => Promise.reject(new Error("ENOSPC")) }
  expect(await spillText("one", "c", { workspace: { ...workspace, files } })).toBeUndefined()
})
