import { describe, expect, test } from "vitest"
import { z } from "zod"

import { defineTool } from "./define-tool.ts"
import type { ToolContext } from "./tool.ts"

const CONTEXT = {} as ToolContext

const grep = defineTool({
  name: "grep",
  toolset: "file",
  description: "Search.",
  input: z.object({
    pattern: z.string().min(1).describe("What to find"),
    mode: z.enum(["lines", "files"]).default("lines"),
    limit: z.int().min(1).max(100).optional(),
    paths: z.array(z.string()).optional(),
    since: z.string().nullable().optional(),
  }),
  access: ({ mode }) => (mode === "lines" ? "read" : "network"),
  subject: ({ paths = [] }) => paths.map((path) => ({ kind: "path", path })),
  preview: ({ pattern }) => pattern,
  parallel: "safe",
  idempotent: true,
  run: async (args) => ({ content: { args }, summary: "done" }),
})

test("has its data and only the marks that were set", () => {
  const { name, toolset, description, marks } = grep
  expect({ name, toolset, description, marks }).toEqual({
    name: "grep",
    toolset: "file",
    description: "Search.",
    marks: { parallel: "safe", idempotent: true },
  })
})

test("derives the parameters from the schema, once", () => {
  expect(grep.parameters).toEqual({
    type: "object",
    properties: {
      pattern: { type: "string", minLength: 1, description: "What to find" },
      mode: { type: "string", enum: ["lines", "files"], default: "lines" },
      limit: { type: "integer", minimum: 1, maximum: 100 },
      paths: { type: "array", items: { type: "string" } },
      since: { type: "string", nullable: true },
    },
    required: ["pattern"],
  })
  expect(grep.parameters).toBe(grep.parameters)
})

test("an integer without bounds has no bounds in the schema", () => {
  const tool = defineTool({ ...declaration(), input: z.object({ n: z.int() }) })
  expect(tool.parameters).toEqual({ type: "object", properties: { n: { type: "integer" } }, required: ["n"] })
})

describe("a valid call", () => {
  test("is coerced, completed with defaults and ready to run", async () => {
    const parsed = grep.runnable.parse({ pattern: "x", limit: "5", paths: "src" })
    if (!parsed.ok) throw new Error(parsed.error)
    const args = { pattern: "x", mode: "lines", limit: 5, paths: ["src"] }
    expect(parsed.value).toEqual({
      args,
      access: "read",
      subjects: [{ kind: "path", path: "src" }],
      preview: "x",
      run: expect.any(Function),
    })
    expect(await parsed.value.run(CONTEXT)).toEqual({ content: { args }, summary: "done" })
  })

  test("a single subject becomes a list, and access may depend on the arguments", () => {
    const tool = defineTool({ ...declaration(), subject: () => ({ kind: "name", name: "n" }), access: () => "exec" })
    expect(tool.runnable.parse({})).toMatchObject({
      ok: true,
      value: { subjects: [{ kind: "name", name: "n" }], access: "exec" },
    })
  })

  test("null for an optional parameter counts as absent", () => {
    expect(grep.runnable.parse({ pattern: "x", limit: null, mode: null, since: null })).toMatchObject({
      ok: true,
      value: { args: { pattern: "x", mode: "lines", since: null } },
    })
  })
})

describe("an invalid call returns one sentence", () => {
  test.each([
    { args: {}, wanted: "grep was not run: `pattern` is required." },
    { args: { pattern: null }, wanted: "grep was not run: `pattern` must be a string, not null." },
    { args: { pattern: "" }, wanted: "grep was not run: `pattern` must not be empty." },
    { args: { pattern: "x", limit: 0 }, wanted: "grep was not run: `limit` must be at least 1." },
    { args: { pattern: "x", limit: 101 }, wanted: "grep was not run: `limit` must be at most 100." },
    { args: { pattern: "x", limit: 1.5 }, wanted: "grep was not run: `limit` must be a whole number." },
    { args: { pattern: "x", limit: "many" }, wanted: "grep was not run: `limit` must be a number, not a string." },
    { args: { pattern: "x", mode: "all" }, wanted: "grep was not run: `mode` must be one of lines, files." },
    { args: { pattern: "x", paths: ["a", 2] }, wanted: "grep was not run: `paths.1` must be a string, not a number." },
    {
      args: { pattern: 3, limit: 0 },
      wanted: "grep was not run: `pattern` must be a string, not a number; `limit` must be at least 1.",
    },
  ])("$args", ({ args, wanted }) => {
    expect(grep.runnable.parse(args)).toEqual({ ok: false, error: wanted })
  })

  test.each([
    { input: z.strictObject({}), args: { x: 1 }, wanted: "t was not run: there is no parameter x." },
    {
      input: z.object({ a: z.union([z.string(), z.int()]) }),
      args: { a: true },
      wanted: "t was not run: `a` has none of the accepted forms.",
    },
    { input: z.object({ a: z.literal("x") }), args: { a: "y" }, wanted: "t was not run: `a` must be x." },
    { input: z.object({ a: z.url() }), args: { a: "y" }, wanted: "t was not run: `a` must be a valid url." },
    { input: z.object({ a: z.number().gt(0) }), args: { a: 0 }, wanted: "t was not run: `a` must be more than 0." },
    {
      input: z.object({ a: z.string() }).refine(() => false, "give a or b"),
      args: { a: "" },
      wanted: "t was not run: give a or b.",
    },
    {
      input: z.object({ a: z.array(z.string()).max(2) }),
      args: { a: ["", "", ""] },
      wanted: "t was not run: `a` must be at most 2 items long.",
    },
  ])("$wanted", ({ input, args, wanted }) => {
    expect(defineTool({ ...declaration(), input }).runnable.parse(args)).toEqual({ ok: false, error: wanted })
  })

  test("of at most 600 characters", () => {
    const input = z.object(Object.fromEntries(Array.from({ length: 80 }, (_, index) => [`p${index}`, z.string()])))
    const parsed = defineTool({ ...declaration(), input }).runnable.parse({})
    expect(parsed.ok ? "" : parsed.error).toHaveLength(600)
  })
})

test("an invalid name throws", () => {
  expect(() => defineTool({ ...declaration(), name: "read-file" })).toThrow(
    '"read-file" cannot be a tool name: use 1 to 64 letters, digits and underscores',
  )
})

function declaration() {
  return {
    name: "t",
    toolset: "x",
    description: "",
    input: z.object({}) as z.ZodType,
    access: "read" as const,
    subject: () => [],
    preview: () => "",
    run: async () => ({ content: {}, summary: "" }),
  }
}
