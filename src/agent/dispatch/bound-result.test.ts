import { readFile } from "node:fs/promises"
import { expect, test } from "vitest"
import { createDispatchHarness } from "../../../test/fixtures/agent/dispatch-harness.ts"
import { spillText } from "./bound-result.ts"

test("a full text is written to a file, and a failure returns no path", async () => {
  await using harness = await createDispatchHarness([])
  const { workspace } = harness.session
  expect(await readFile((await spillText("one", { workspace }))!, "utf8")).toBe("one")
  const results = { save: () => Promise.reject(new Error("ENOSPC")) }
  expect(await spillText("one", { workspace: { ...workspace, results } })).toBeUndefined()
})
