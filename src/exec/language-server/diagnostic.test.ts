import { expect, test } from "vitest"

import { newErrors, readDiagnostics } from "./diagnostic.ts"
import type { Diagnostic } from "./diagnostic.ts"

const error = (line: number, message: string, more: Partial<Diagnostic> = {}): Diagnostic => ({
  severity: 1,
  code: "",
  source: "",
  message,
  line,
  character: 0,
  ...more,
})

interface Case {
  readonly before: readonly [text: string, ...diagnostics: readonly Diagnostic[]]
  readonly after: readonly [text: string, ...diagnostics: readonly Diagnostic[]]
  readonly expected: readonly Diagnostic[]
}

const cases: Readonly<Record<string, Case>> = {
  "an existing error is not new": { before: ["a\nb", error(1, "x")], after: ["c\nb", error(1, "x")], expected: [] },
  "lines inserted above move it": {
    before: ["a\nb", error(0, "x"), error(1, "y")],
    after: ["new\nnew\na\nb", error(2, "x"), error(3, "y")],
    expected: [],
  },
  "lines removed above move it": { before: ["a\nb\nc", error(2, "x")], after: ["c", error(0, "x")], expected: [] },
  "the same message at another position of unchanged lines is new": {
    before: ["a\nb\nc", error(2, "x")],
    after: ["a\nnew\nb\nc", error(1, "x"), error(3, "x")],
    expected: [error(1, "x")],
  },
  "inside replaced lines one error with the same message is not new": {
    before: ["a\nold\nc", error(1, "x")],
    after: ["a\nmore\nnew\nnew\nc", error(2, "x"), error(3, "x")],
    expected: [error(3, "x")],
  },
  "an error elsewhere that the edit caused is new": {
    before: ["a\nb"],
    after: ["changed\nb", error(1, "a is gone")],
    expected: [error(1, "a is gone")],
  },
  "code, source and column distinguish errors": {
    before: ["a", error(0, "x", { code: "1" })],
    after: ["a", error(0, "x", { code: "2" }), error(0, "x", { source: "s" }), error(0, "x", { character: 3 })],
    expected: [error(0, "x", { code: "2" }), error(0, "x", { source: "s" }), error(0, "x", { character: 3 })],
  },
  "warnings are ignored, before and after": {
    before: ["a", error(0, "x", { severity: 2 })],
    after: ["a", error(0, "x"), error(0, "w", { severity: 2 }), error(0, "v", { severity: 0 })],
    expected: [error(0, "x")],
  },
  "appending a line keeps the errors above": {
    before: ["a\n", error(0, "x")],
    after: ["a\nb\n", error(0, "x"), error(1, "y")],
    expected: [error(1, "y")],
  },
  "changed line endings are not an edit": {
    before: ["a\nb", error(1, "x")],
    after: ["a\r\nb", error(1, "x")],
    expected: [],
  },
}

test.each(Object.entries(cases))("%s", (_name, { before, after, expected }) => {
  const side = ([text, ...diagnostics]: Case["before"]) => ({ text, diagnostics })
  expect(newErrors(side(before), side(after))).toEqual(expected)
})

test("byte columns are converted to UTF-16 columns, and invalid entries are skipped", () => {
  const at = (character: number) => ({ range: { start: { line: 1, character } }, severity: 1, message: "m", code: 7 })
  const items = [at(0), at(3), at(8), { message: "no position" }, "junk", null]
  const text = "\né€😀x"
  const columns = (encoding: "utf-8" | "utf-16") =>
    readDiagnostics(items, { text, encoding }).map((one) => one.character)
  expect([columns("utf-8"), columns("utf-16")]).toEqual([
    [0, 2, 3],
    [0, 3, 8],
  ])
  expect(readDiagnostics(items.slice(0, 1), { text, encoding: "utf-16" })).toEqual([error(1, "m", { code: "7" })])
  expect(readDiagnostics({ not: "a list" }, { text, encoding: "utf-16" })).toEqual([])
})
