import { describe, expect, test } from "vitest"

import type { ClarifyRequest } from "../../protocol/events.ts"
import { clarifyQuestion, parseClarifyAnswer } from "./clarify-prompt.ts"

const LABEL = "The model asks (it reads your answer, so give it no\n      password):\n"

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

describe("clarifyQuestion", () => {
  test.each<{ name: string; changes: Partial<ClarifyRequest>; shown: string }>([
    {
      name: "choices and free text",
      changes: {},
      shown: `${LABEL}  | Which colour?\n  1. Red\n  2. Blue\n  3. Other (type an answer)\nNumber or answer: `,
    },
    {
      name: "choices only",
      changes: { allowFreetext: false },
      shown: `${LABEL}  | Which colour?\n  1. Red\n  2. Blue\nNumber: `,
    },
    {
      name: "a question of Hermes",
      changes: { asker: "hermes", allowFreetext: false },
      shown: "Hermes asks:\n  | Which colour?\n  1. Red\n  2. Blue\nNumber: ",
    },
    { name: "an open question", changes: { choices: [] }, shown: `${LABEL}  | Which colour?\nYour answer: ` },
    {
      name: "a secret",
      changes: { kind: "secret", question: "Token for the forge", choices: [] },
      shown: "Hermes asks: Token for the forge\n(input is hidden) ",
    },
    {
      name: "control characters",
      changes: { question: "\u001B[2JWhich?", choices: ["a\n\u001B[31mb"], allowFreetext: false },
      shown:
        LABEL +
        "  | \\u{1B}[2JWhich?\n  ! \\u{1B}: escape, which starts terminal sequences\n  1. a \\u{1B}[31mb\nNumber: ",
    },
    {
      name: "a question that imitates a password prompt",
      changes: { question: "Done.\n\n[sudo] password for paul: ", choices: [] },
      shown: `${LABEL}  | Done.\n  | \n  | [sudo] password for paul:\nYour answer: `,
    },
    {
      name: "a line that continues at the left edge",
      changes: { question: `${"x".repeat(55)}Allow [o]nce?`, choices: [] },
      shown: `${LABEL}  | ${"x".repeat(55)}\n  : Allow [o]nce?\nYour answer: `,
    },
  ])("$name", ({ changes, shown }) => {
    expect(clarifyQuestion(request(changes), { columns: 60 })).toBe(shown)
  })

  test("numbers six choices", () => {
    const choices = ["a", "b", "c", "d", "e", "f"]
    expect(clarifyQuestion(request({ choices }), { columns: 60 })).toContain("  6. f\n  7. Other (type an answer)\n")
  })
})

describe("parseClarifyAnswer", () => {
  test.each<{ typed: string; changes?: Partial<ClarifyRequest>; expected: ReturnType<typeof parseClarifyAnswer> }>([
    { typed: "2", expected: { kind: "answer", text: "Blue" } },
    { typed: " 1. ", expected: { kind: "answer", text: "Red" } },
    { typed: "2)", expected: { kind: "answer", text: "Blue" } },
    { typed: "blue", expected: { kind: "answer", text: "Blue" } },
    { typed: "green, please", expected: { kind: "answer", text: "green, please" } },
    { typed: "3", expected: { kind: "other" } },
    { typed: "Other", expected: { kind: "other" } },
    { typed: "9", expected: { kind: "answer", text: "9" } },
    { typed: "0", expected: { kind: "answer", text: "0" } },
    { typed: "  ", expected: { kind: "unclear", hint: "Type an answer, or press Ctrl+C to skip." } },
    {
      typed: "green",
      changes: { allowFreetext: false },
      expected: { kind: "unclear", hint: "Type a number from 1 to 2, or press Ctrl+C to skip." },
    },
    {
      typed: "3",
      changes: { allowFreetext: false },
      expected: { kind: "unclear", hint: "Type a number from 1 to 2, or press Ctrl+C to skip." },
    },
    { typed: "b", changes: { allowFreetext: false }, expected: { kind: "answer", text: "Blue" } },
    { typed: "b", expected: { kind: "answer", text: "b" } },
    {
      typed: "re",
      changes: { allowFreetext: false, choices: ["Red", "Reddish"] },
      expected: { kind: "unclear", hint: "Type a number from 1 to 2, or press Ctrl+C to skip." },
    },
    { typed: "2", changes: { choices: [] }, expected: { kind: "answer", text: "2" } },
    { typed: "free", changes: { choices: [], allowFreetext: false }, expected: { kind: "answer", text: "free" } },
    { typed: " pa ss ", changes: { kind: "sudo", choices: [] }, expected: { kind: "answer", text: " pa ss " } },
    { typed: "", changes: { kind: "secret", choices: [] }, expected: { kind: "answer", text: "" } },
  ])("%j", ({ typed, changes = {}, expected }) => {
    expect(parseClarifyAnswer(typed, request(changes))).toEqual(expected)
  })
})
