import { readFile } from "node:fs/promises"
import { join } from "node:path"
import { expect, test } from "vitest"
import { createDispatchHarness } from "../../../test/fixtures/agent/dispatch-harness.ts"
import { spillText } from "./bound-result.ts"

test("a full text is written to a file named after its call and never overwrites an earlier one", async () => {
  await using harness = await createDispatchHarness([])
  const { workspace } = harness.session
  const files = { ...workspace.files, temporaryDirectory: () => Promise.resolve(harness.home.workdir) }
  const options = { workspace: { ...workspace, files } }
  const first = await spillText("one", "call/../1", options)
  const second = await spillText("two", "call/../1", options)
  expect([first, second]).toEqual(
    ["call____1.txt", "call____1-2.txt"].map((name) => join(harness.home.workdir, "hermes-results", name)),
  )
  expect([await readFile(first!, "utf8"), await readFile(second!, "utf8")]).toEqual(["one", "two"])
})

test("a directory that is not writable returns no path", async () => {
  await using harness = await createDispatchHarness([])
  const { workspace } = harness.session
  const files = { ...workspace.files, write: () => Promise.reject(new Error("ENOSPC")) }
  expect(await spillText("one", "c", { workspace: { ...workspace, files } })).toBeUndefined()
})
