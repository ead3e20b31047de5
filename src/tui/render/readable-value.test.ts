import { expect, test } from "vitest"

import { readableResult } from "./readable-value.ts"

test("fields are below one another, and texts keep their lines", () => {
  const result = {
    output: "one\n  two\n",
    exit_code: 0,
    error: null,
    empty: "",
    none: [],
    matches: [{ path: "a.ts", line: 3 }, "b"],
  }
  expect(readableResult(`${JSON.stringify(result)}\n\n[A note for the model]`)).toBe(`output:
  one
    two
exit_code: 0
error: null
empty:
none: []
matches:
  -
    path: a.ts
    line: 3
  - b
[A note for the model]`)
})

test.each(["plain text", "", "{not json}", "[1, 2]", '"text"', "{"])("%j stays as it is", (text) => {
  expect(readableResult(text)).toBe(text)
})

test("deep nesting ends", () => {
  const deep = JSON.parse(`${'{"a":'.repeat(30)}1${"}".repeat(30)}`) as unknown
  expect(readableResult(JSON.stringify(deep)).split("\n").length).toBeLessThan(12)
})
