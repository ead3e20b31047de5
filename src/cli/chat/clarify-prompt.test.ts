import { describe, expect, test } from "vitest"

import type { ClarifyRequest } from "../../protocol/events.ts"
import { clarifyQuestion, readClarify } from "./clarify-prompt.ts"

function request(changes: Partial<ClarifyRequest> = {}): ClarifyRequest {
  return {
    type: "clarify-request",
    requestId: "clarify_1",
    kind: "question",
    question: "Which colour?",
    choices: ["Red", "Blue"],
    allowFreetext: true,
    expiresAt: null,
    ...changes,
  }
}

describe("what the person sees", () => {
  test.each<{ name: string; changes: Partial<ClarifyRequest>; shown: string }>([
    {
      name: "choices and free text",
      changes: {},
      shown: "Which colour?\n  1. Red\n  2. Blue\n  3. Other (type an answer)\nNumber or answer: ",
    },
    {
      name: "choices only",
      changes: { allowFreetext: false },
      shown: "Which colour?\n  1. Red\n  2. Blue\nNumber: ",
    },
    { name: "an open question", changes: { choices: [] }, shown: "Which colour?\nYour answer: " },
    {
      name: "a secret",
      changes: { kind: "secret", question: "Token for the forge", choices: [] },
      shown: "Token for the forge\n(what you type is not shown) ",
    },
    {
      name: "text that would drive the terminal",
      changes: { question: "\u001B[2JWhich?", choices: ["a\n\u001B[31mb"], allowFreetext: false },
      shown: "[2JWhich?\n  1. a [31mb\nNumber: ",
    },
  ])("$name", ({ changes, shown }) => {
    expect(clarifyQuestion(request(changes))).toBe(shown)
  })

  test("six choices fit", () => {
    const choices = ["a", "b", "c", "d", "e", "f"]
    expect(clarifyQuestion(request({ choices }))).toContain("  6. f\n  7. Other (type an answer)\n")
  })
})

describe("what a typed line means", () => {
  test.each<{ typed: string; changes?: Partial<ClarifyRequest>; means: ReturnType<typeof readClarify> }>([
    { typed: "2", means: { kind: "answer", text: "Blue" } },
    { typed: " 1. ", means: { kind: "answer", text: "Red" } },
    { typed: "2)", means: { kind: "answer", text: "Blue" } },
    { typed: "blue", means: { kind: "answer", text: "Blue" } },
    { typed: "green, please", means: { kind: "answer", text: "green, please" } },
    { typed: "3", means: { kind: "other" } },
    { typed: "Other", means: { kind: "other" } },
    { typed: "9", means: { kind: "answer", text: "9" } },
    { typed: "0", means: { kind: "answer", text: "0" } },
    { typed: "  ", means: { kind: "unclear", hint: "Type an answer, or Ctrl+C for none." } },
    {
      typed: "green",
      changes: { allowFreetext: false },
      means: { kind: "unclear", hint: "Type a number from 1 to 2, or Ctrl+C for none." },
    },
    {
      typed: "3",
      changes: { allowFreetext: false },
      means: { kind: "unclear", hint: "Type a number from 1 to 2, or Ctrl+C for none." },
    },
    { typed: "b", changes: { allowFreetext: false }, means: { kind: "answer", text: "Blue" } },
    { typed: "b", means: { kind: "answer", text: "b" } },
    {
      typed: "re",
      changes: { allowFreetext: false, choices: ["Red", "Reddish"] },
      means: { kind: "unclear", hint: "Type a number from 1 to 2, or Ctrl+C for none." },
    },
    { typed: "2", changes: { choices: [] }, means: { kind: "answer", text: "2" } },
    { typed: "free", changes: { choices: [], allowFreetext: false }, means: { kind: "answer", text: "free" } },
    { typed: " pa ss ", changes: { kind: "sudo", choices: [] }, means: { kind: "answer", text: " pa ss " } },
    { typed: "", changes: { kind: "secret", choices: [] }, means: { kind: "answer", text: "" } },
  ])("%j", ({ typed, changes = {}, means }) => {
    expect(readClarify(typed, request(changes))).toEqual(means)
  })
})
