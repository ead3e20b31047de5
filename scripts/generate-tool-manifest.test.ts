import { expect, test } from "vitest"
import { z } from "zod"

import { defineTool } from "../src/toolkit/define-tool.ts"
import { renderManifest } from "./generate-tool-manifest.ts"

const tool = (name: string) => ({
  load: async () =>
    defineTool({
      name,
      toolset: "file",
      description: `About ${name}.`,
      input: z.object({ path: z.string() }),
      access: "read",
      subject: ({ path }) => ({ kind: "path", path }),
      preview: ({ path }) => path,
      parallel: "by-path",
      run: async () => ({ content: {}, summary: "" }),
    }),
})

test("the manifest is sorted by name and does not depend on the order of the table", async () => {
  const text = await renderManifest({ b: tool("b"), a: tool("a") })
  expect(await renderManifest({ a: tool("a"), b: tool("b") })).toBe(text)
  const facts = (name: string) => ({
    name,
    toolset: "file",
    description: `About ${name}.`,
    parameters: { type: "object", properties: { path: { type: "string" } }, required: ["path"] },
    marks: { parallel: "by-path" },
  })
  expect(JSON.parse(text.slice(text.indexOf("= {") + 2))).toEqual({ a: facts("a"), b: facts("b") })
  expect(text.indexOf('"a": {')).toBeLessThan(text.indexOf('"b": {'))
})

test("a tool that is listed under another name is an error", async () => {
  await expect(renderManifest({ a: tool("b") })).rejects.toThrow(
    'the table lists "a", but the name of that tool is "b"',
  )
})
