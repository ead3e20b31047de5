import { describe, expect, test } from "vitest"

import { assistant, toolRound, user } from "../../../../test/fixtures/agent/histories.ts"
import { automaticFocus, SUMMARY_SECTIONS, summaryPrompt } from "./summary-prompt.ts"

const prompt = (more: Partial<Parameters<typeof summaryPrompt>[0]> = {}): string =>
  summaryPrompt({
    turns: [],
    previous: undefined,
    focus: undefined,
    hints: "",
    targetTokens: 2000,
    maxChars: 1_000_000,
    today: undefined,
    ...more,
  })

test("the request names every section once, in order", () => {
  const headings = [...prompt().matchAll(/^## (.*)$/gmu)].map((found) => found[1])
  expect(headings).toEqual(SUMMARY_SECTIONS.map(([heading]) => heading))
})

test("the request states the length and, when it is known, the date", () => {
  expect(prompt({ today: "2026-03-01" })).toContain("about 2000 tokens")
  expect(prompt({ today: "2026-03-01" })).toContain("Today is 2026-03-01")
  expect(prompt()).not.toContain("Today is")
})

test("messages become labelled blocks; long ones lose their middle", () => {
  const text = prompt({
    turns: [
      user(`Send MEDIA:/tmp/a.png ${"u".repeat(6000)}`),
      ...toolRound([{ id: "c1", args: { command: "y".repeat(2000) }, result: "r".repeat(6000) }], { text: "Looking." }),
      assistant("Done."),
    ],
  })
  const conversation = text.slice(text.indexOf("<conversation>"))
  expect(conversation).toContain("[USER]\nSend [media attachment] uuu")
  expect(conversation).toMatch(/u\n\.\.\.\[\d+ characters left out\]\.\.\.\nu{1500}\n/)
  expect(conversation).toMatch(/\[ASSISTANT\]\nLooking\.\nCalls:\n- read_file \(c1\): \{"command":"y+\.\.\.\n/)
  expect(conversation).toContain(`[TOOL RESULT c1]\n${"r".repeat(6000)}\n`)
  expect(conversation).toContain("[ASSISTANT]\nDone.\n</conversation>")
})

test("a conversation that is too long loses its middle and keeps more of the end", () => {
  const text = prompt({
    turns: Array.from({ length: 100 }, (_, index) => user(`${index} ${"x".repeat(1000)}`)),
    maxChars: 10_000,
  })
  expect(text.length).toBeLessThan(15_000)
  expect([text.includes("[USER]\n0 "), text.includes("[USER]\n99 "), text.includes("[USER]\n50 ")]).toEqual([
    true,
    true,
    false,
  ])
})

describe("the focus without a topic", () => {
  test.each([
    ["no user message", [assistant("a")], undefined],
    ["the last three user messages", ["1", "2", "3", "4"].map((text) => user(text)), "2 / 3 / 4"],
    ["synthetic messages are ignored", [user("mine"), user("list", { synthetic: "todo" })], "mine"],
    ["each of them bounded", [user("x".repeat(300))], `${"x".repeat(257)}...`],
  ])("%s", (_name, messages, focus) => {
    expect(automaticFocus(messages)).toBe(focus)
  })

  test("all of them bounded", () => {
    expect(automaticFocus([user("x".repeat(300)), user("y".repeat(300)), user("z".repeat(300))])).toHaveLength(700)
  })
})
