import { expect, test } from "vitest"
import { z } from "zod"

import { builtinEntries, type ManifestEntry } from "./builtin-entries.ts"
import { defineTool } from "./define-tool.ts"

const facts = (name: string): ManifestEntry => ({
  name,
  toolset: "file",
  description: `about ${name}`,
  parameters: { type: "object", properties: {} },
  marks: { parallel: "safe" },
})

const tool = defineTool({
  name: "b",
  toolset: "file",
  description: "",
  input: z.object({}),
  access: "read",
  subject: () => [],
  preview: () => "",
  run: async () => ({ content: {}, summary: "" }),
})

test("joins the manifest and the loader of each tool, sorted by name; the code is loaded on demand", async () => {
  let loads = 0
  const load = async () => {
    loads += 1
    return tool
  }
  const entries = builtinEntries(
    { b: facts("b"), a: facts("a"), unlisted: facts("unlisted") },
    { b: { load }, a: { load }, unknown: { load } },
  )
  const builtin = { load: expect.any(Function), source: { kind: "builtin" } }
  expect(entries).toEqual([
    { ...plain("a"), ...builtin },
    { ...plain("b"), ...builtin },
  ])
  expect(loads).toBe(0)
  expect(await entries[1]?.load()).toBe(tool.runnable)
  expect(loads).toBe(1)
})

function plain(name: string) {
  const { marks, ...rest } = facts(name)
  return { ...rest, ...marks }
}
