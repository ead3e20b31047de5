import { describe, expect, test } from "vitest"

import { hasUnclosedScratchpad, isAcknowledgement } from "./unfinished-reply.ts"

describe("a reply that only announces work", () => {
  test.each([
    ["I'll inspect the repository and report back.", true],
    ["I’ll start by reading the files in src.", true],
    ["Let me check the project structure first.", true],
    ["Sure. I will run the tests now.", true],
    ["The repository has three files: a.ts, b.ts and c.ts.", false],
    ["I'll be happy to help.", false],
    ["Let me know which one you prefer.", false],
    ["Let me explain how closures work.", false],
    ["", false],
    [`I'll inspect the repository. ${"x".repeat(1180)}`, false],
  ])("%s", (text, expected) => {
    expect(isAcknowledgement(text, { toolsUsed: false })).toBe(expected)
  })

  test("does not count once a tool was used", () => {
    expect(isAcknowledgement("I'll inspect the repository next.", { toolsUsed: true })).toBe(false)
  })

  test("counts characters, not UTF-16 units", () => {
    const opening = "Let me read the files. "
    expect(isAcknowledgement(opening + "😀".repeat(1200 - opening.length), { toolsUsed: false })).toBe(true)
    expect(isAcknowledgement(opening + "😀".repeat(1201 - opening.length), { toolsUsed: false })).toBe(false)
  })
})

test.each([
  ["<REASONING_SCRATCHPAD>hm", true],
  ["Well\n  <reasoning_scratchpad>hm", true],
  ["<REASONING_SCRATCHPAD>hm</REASONING_SCRATCHPAD>done", false],
  ["<REASONING_SCRATCHPAD>a</REASONING_SCRATCHPAD>\n<REASONING_SCRATCHPAD>b", true],
  ["Write <REASONING_SCRATCHPAD> around thoughts.", false],
  ["</REASONING_SCRATCHPAD>done", false],
  ["", false],
])("an unclosed scratchpad in %j: %s", (text, expected) => {
  expect(hasUnclosedScratchpad(text)).toBe(expected)
})
