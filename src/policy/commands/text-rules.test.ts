import { readFileSync } from "node:fs"
import { expect, test } from "vitest"
import { RISKY_TEXT } from "./risky-text-rules.ts"
import {
  FORK_BOMB,
  HARDLINE_TEXT,
  SELF_STARTING_FUNCTION,
  SUDO_PASSWORD_TEXT,
  SUDO_TEXT,
  matchesPatterns,
  matchesText,
} from "./text-rules.ts"

const RULES = [FORK_BOMB, SELF_STARTING_FUNCTION, ...HARDLINE_TEXT, ...RISKY_TEXT, ...SUDO_TEXT, SUDO_PASSWORD_TEXT]

const LINES = ["attack-lines.jsonl", "everyday-lines.jsonl"].flatMap((name) =>
  readFileSync(new URL(`../../../test/fixtures/permissions/${name}`, import.meta.url), "utf8")
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => String((JSON.parse(line) as { readonly command: unknown }).command)),
)

const matchingLines = (line: string): readonly string[] => [line, line.toUpperCase(), line.replaceAll(" ", "  ")]

test("a rule's words are in every line that its patterns match", () => {
  const missed = LINES.flatMap(matchingLines).flatMap((line) =>
    RULES.filter((rule) => matchesPatterns(rule, line) && !matchesText(rule, line)).map(({ key }) => [key, line]),
  )
  expect(missed).toEqual([])
})

test("a line without the words of a rule does not reach its patterns", () => {
  expect(RULES.filter((rule) => rule.words.some((word) => "cat notes.txt".includes(word)))).toEqual([])
  expect(RULES.flatMap(({ words }) => words.filter((word) => word !== word.toLowerCase()))).toEqual([])
})
