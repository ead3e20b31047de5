import { expect, test } from "vitest"

import { normaliseRow } from "./normalise-row.ts"
import type { Replacement } from "./normalise-row.ts"
import type { ScreenRow, Style } from "./screen-rows.ts"

const PLAIN: Style = {
  color: "#ffffff",
  background: undefined,
  bold: false,
  dim: false,
  italic: false,
  underline: false,
  strikethrough: false,
}

const HOME: Replacement = { pattern: /\/home\/ann/u, text: "~" }

function rowOf(text: string): ScreenRow {
  return Array.from(text, (character) => ({ text: character, width: character === "💻" ? 2 : 1, style: PLAIN }))
}

function normalised(text: string, ...replacements: readonly Replacement[]): string {
  return normaliseRow(rowOf(text), replacements)
    .map((cell) => cell.text)
    .join("")
}

test("a row keeps its width when text in it is replaced", () => {
  expect(normalised("in /home/ann/garden   ", HOME)).toBe("in ~/garden           ")
  expect(normalised("── Files of /home/ann ──── 2 ──", HOME)).toBe("── Files of ~ ──────────── 2 ──")
  expect(normalised("💻 took 9s    ", { pattern: /\d+s/u, text: "12s" })).toBe("💻 took 12s   ")
})

test("a row without padding becomes shorter, other rows stay as they are", () => {
  expect(normalised("/home/ann/garden", HOME)).toBe("~/garden")
  expect(normalised("nothing to replace", HOME)).toBe("nothing to replace")
})
