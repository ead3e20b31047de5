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
  readonly fresh: readonly Diagnostic[]
}

const cases: Readonly<Record<string, Case>> = {
  "an error that was there is hidden": { before: ["a\nb", error(1, "x")], after: ["c\nb", error(1, "x")], fresh: [] },
  "lines inserted above move it": {
    before: ["a\nb", error(0, "x"), error(1, "y")],
    after: ["new\nnew\na\nb", error(2, "x"), error(3, "y")],
    fresh: [],
  },
  "lines removed above move it": { before: ["a\nb\nc", error(2, "x")], after: ["c", error(0, "x")], fresh: [] },
  "the same words at another place of what stayed are new": {
    before: ["a\nb\nc", error(2, "x")],
    after: ["a\nnew\nb\nc", error(1, "x"), error(3, "x")],
    fresh: [error(1, "x")],
  },
  "an error inside what was replaced stays the same by its words, once": {
    before: ["a\nold\nc", error(1, "x")],
    after: ["a\nmore\nnew\nnew\nc", error(2, "x"), error(3, "x")],
    fresh: [error(3, "x")],
  },
  "one that came up elsewhere because of the edit is new": {
    before: ["a\nb"],
    after: ["changed\nb", error(1, "a is gone")],
    fresh: [error(1, "a is gone")],
  },
  "code, source and column tell errors apart": {
    before: ["a", error(0, "x", { code: "1" })],
    after: ["a", error(0, "x", { code: "2" }), error(0, "x", { source: "s" }), error(0, "x", { character: 3 })],
    fresh: [error(0, "x", { code: "2" }), error(0, "x", { source: "s" }), error(0, "x", { character: 3 })],
  },
  "warnings do not count, before or after": {
    before: ["a", error(0, "x", { severity: 2 })],
    after: ["a", error(0, "x"), error(0, "w", { severity: 2 }), error(0, "v", { severity: 0 })],
    fresh: [error(0, "x")],
  },
  "an appended line keeps what stands above": {
    before: ["a\n", error(0, "x")],
    after: ["a\nb\n", error(0, "x"), error(1, "y")],
    fresh: [error(1, "y")],
  },
  "other line ends are no edit": { before: ["a\nb", error(1, "x")], after: ["a\r\nb", error(1, "x")], fresh: [] },
}

test.each(Object.entries(cases))("%s", (_name, { before, after, fresh }) => {
  const side = ([text, ...diagnostics]: Case["before"]) => ({ text, diagnostics })
  expect(newErrors(side(before), side(after))).toEqual(fresh)
})

test("columns in bytes become columns in characters; what is no diagnostic is left out", () => {
  const at = (character: number) => ({ range: { start: { line: 1, character } }, severity: 1, message: "m", code: 7 })
  const items = [at(0), at(3), at(8), { message: "no place" }, "junk", null]
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
