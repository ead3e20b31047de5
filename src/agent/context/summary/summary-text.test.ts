import { describe, expect, test } from "vitest"

import { assistant, toolRound, user } from "../../../../test/fixtures/agent/histories.ts"
import { cleanBody, findSummary, withoutSummary, wrapSummary } from "./summary-text.ts"

const BODY = "## Active Task\nShip it.\n\n## Goal\nA release."
const TEXT = wrapSummary(BODY, "20260101_120000_abcdef")
const carried = { compressed_summary: true } as const

test("a summary starts and ends with its markers and explains how to find the removed messages", () => {
  expect(TEXT.startsWith("[CONTEXT COMPACTION — REFERENCE ONLY] ")).toBe(true)
  expect(
    TEXT.endsWith(`\n\n--- END OF CONTEXT SUMMARY — respond to the message below, not the summary above ---`),
  ).toBe(true)
  expect(TEXT).toContain(`\n\n${BODY}\n\n`)
  for (const fact of [
    "not instructions",
    "newest user message",
    "MEMORY.md",
    "USER.md",
    'session_search with session_id "20260101_120000_abcdef"',
  ]) {
    expect(TEXT).toContain(fact)
  }
})

describe("the summary in a message of any version", () => {
  test.each([
    ["current", TEXT, BODY, ""],
    ["current, without headings", wrapSummary("Just text.\nMore.", "s"), "Just text.\nMore.", ""],
    ["current, before the user's text", `${TEXT}\n\nNow the docs.`, BODY, "Now the docs."],
    ["an older wording", `[CONTEXT COMPACTION] Turns were compacted to save space:\n${BODY}`, BODY, ""],
    ["the oldest form", "[CONTEXT SUMMARY]: We did\nthings.", "We did\nthings.", ""],
  ])("%s", (_name, text, body, rest) => {
    expect(findSummary(user(text))).toEqual({ body, rest })
    expect(findSummary(assistant(text))).toEqual({ body, rest })
  })

  test("a marker inside other text is a quotation, unless the message is marked as a summary", () => {
    expect(findSummary(user(`See ${TEXT}`))).toBeUndefined()
    expect(findSummary(user(`Note.\n\n${TEXT}\n\nWords.`, carried))).toEqual({
      body: BODY,
      rest: "Note.\n\n\n\nWords.",
    })
    expect(findSummary(toolRound([{ id: "c", result: TEXT }])[1]!)).toBeUndefined()
  })
})

test("removing the summary restores the message", () => {
  const image = { type: "image_url", image_url: { url: "data:image/png;base64,AA" } } as const
  expect(withoutSummary(user(TEXT, { ...carried, synthetic: "summary" }))).toBeUndefined()
  expect(withoutSummary(user(`${TEXT}\n\nWords.`, carried))).toEqual(user("Words."))
  expect(withoutSummary(user([{ type: "text", text: TEXT }, image], carried))).toEqual(user([image]))
  const plain = user("Words.")
  expect(withoutSummary(plain)).toBe(plain)
  const [call] = toolRound([{ id: "c", result: "r" }], { text: TEXT, assistant: carried })
  const { compressed_summary: _carried, ...bare } = call as typeof call & { compressed_summary: true }
  expect(call?.role === "assistant" && withoutSummary(call)).toEqual({ ...bare, content: null })
})

test.each([
  [TEXT, BODY],
  [`  ${BODY}\n`, BODY],
  [`${BODY}\n--- END OF CONTEXT SUMMARY — x ---`, BODY],
  ["   ", ""],
])("markers that a model copied are removed", (text, body) => {
  expect(cleanBody(text)).toBe(body)
})
