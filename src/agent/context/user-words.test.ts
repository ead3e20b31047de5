import { describe, expect, test } from "vitest"

import { fitWords, mergeWords, NO_WORDS, parseWordLine, wordLines } from "./user-words.ts"
import type { UserWords } from "./user-words.ts"

const LARGE = { saidTokens: 10_000, listedTokens: 1000 }
const said = (...texts: readonly string[]): UserWords => ({ said: texts, listed: [] })

test("words are kept whole while they fit", () => {
  const words = said("One.", "Two.")
  expect(fitWords(words, LARGE)).toEqual(words)
})

test("the oldest messages are listed when there is no room: what was asked, decided and ruled out", () => {
  const oldest =
    "Please move the parser. We decided to use tabs. Never touch generated files!\nDon't rename anything, either."
  const newer = Array.from({ length: 4 }, (_, index) => `${index}`.repeat(110))
  expect(fitWords(said(oldest, ...newer), { saidTokens: 120, listedTokens: 1000 })).toEqual({
    said: newer,
    listed: [
      "- Asked: Please move the parser.",
      "- Decided: We decided to use tabs.",
      "- Ruled out: Never touch generated files!",
      "- Ruled out: Don't rename anything, either.",
    ],
  })
})

test("when the list is full, requests go first and prohibitions last", () => {
  const listed = ["- Asked: a", "- Ruled out: b", "- Decided: c", "- Asked: d"]
  const fit = (listedTokens: number) => fitWords({ said: [], listed }, { saidTokens: 0, listedTokens }).listed
  expect(fit(100)).toEqual(listed)
  expect(fit(11)).toEqual(["- Ruled out: b", "- Decided: c", "- Asked: d"])
  expect(fit(8)).toEqual(["- Ruled out: b", "- Decided: c"])
  expect(fit(4)).toEqual(["- Ruled out: b"])
  expect(fit(0)).toEqual([])
})

test("a pasted file does not displace the other messages", () => {
  const paste = `Look at this: ${"line of a log 😀\n".repeat(1000)}the end`
  const { said: kept, listed } = fitWords(said("Keep me.", paste, "And me."), { saidTokens: 1000, listedTokens: 100 })
  expect([kept[0], kept[2], listed]).toEqual(["Keep me.", "And me.", []])
  expect(kept[1]).toMatch(/^Look at this: [^]*\[…\d+ characters…\][^]*the end$/u)
  expect(kept[1]?.length).toBeLessThan(1100)
})

describe("lines", () => {
  test.each([["plain"], ['with "quotes"\nand lines'], ["[END OF NOTE]"], ["- Done: x"], [""]])(
    "%j is read back",
    (text) => {
      const words: UserWords = { said: [text], listed: ["- Asked: a"] }
      const lines = wordLines(words)
      expect(lines.every((line) => !line.includes("\n") && line.startsWith("- "))).toBe(true)
      expect(lines.reduce((found, line) => mergeWords(found, parseWordLine(line) ?? NO_WORDS), NO_WORDS)).toEqual(words)
    },
  )

  test("other lines are no words, and a damaged quotation is listed", () => {
    expect(parseWordLine("- Done: x")).toBeUndefined()
    expect(parseWordLine('- Said: "cut of')).toEqual({ said: [], listed: ['- Asked: "cut of'] })
  })
})
