import { expect, test } from "vitest"

import { toolBench } from "../../../test/fixtures/tools/tool-bench.ts"
import type { QuestionOutcome, Question } from "../../toolkit/ports/ask.ts"
import type { ToolContext } from "../../toolkit/tool.ts"
import { clarify } from "./clarify.ts"

function asking(answered: QuestionOutcome) {
  const asked: Question[] = []
  const more: Partial<ToolContext> = {
    ports: {
      ask: {
        ask: (question) => {
          asked.push(question)
          return Promise.resolve(answered)
        },
      },
    },
  }
  return { asked, more }
}

const yes: QuestionOutcome = { kind: "answer", text: "yes" }

test("returns the user's answer with the question", async () => {
  await using bench = await toolBench()
  const { asked, more } = asking(yes)
  expect(await bench.call(clarify, { question: " Go on? ", choices: ["yes", " no ", "", "yes"] }, more)).toEqual({
    question: "Go on?",
    choices_offered: ["yes", "no"],
    user_response: "yes",
  })
  expect(asked).toEqual([{ kind: "question", question: "Go on?", choices: ["yes", "no"], allowFreetext: true }])
})

test.each<[string, Record<string, unknown>, Partial<Question>]>([
  ["an open question", { question: "Which?" }, { choices: [], allowFreetext: true }],
  ["without choices words are always allowed", { question: "Which?", allow_freetext: false }, { allowFreetext: true }],
  ["only the choices", { question: "?", choices: ["a", "b"], allow_freetext: false }, { allowFreetext: false }],
  [
    "values that are not text are written as JSON",
    { question: "?", choices: [1, { a: 2 }, null, true] },
    { choices: ["1", '{"a":2}', "true"] },
  ],
])("%s", async (_name, args, expected) => {
  await using bench = await toolBench()
  const { asked, more } = asking(yes)
  await bench.call(clarify, args, more)
  expect(asked).toMatchObject([expected])
})

test.each([
  [undefined, ["a", "b", "c", "d"], "at most 4 choices can be offered; omitted: e, f"],
  [5, ["a", "b", "c", "d", "e"], "at most 5 choices can be offered; omitted: f"],
])("surplus choices are dropped and named (limit %s)", async (limit, offered, note) => {
  await using bench = await toolBench()
  const { more } = asking(yes)
  const limits = { readMaxChars: 1, maxLines: 1, maxLineLength: 1, outputMaxChars: 1, commandTimeoutSeconds: 1 }
  expect(
    await bench.call(
      clarify,
      { question: "?", choices: ["a", "b", "c", "d", "e", "f"] },
      { ...more, limits: { ...limits, ...(limit === undefined ? {} : { clarifyMaxChoices: limit }) } },
    ),
  ).toEqual({ question: "?", choices_offered: offered, user_response: "yes", note })
})

test.each<[QuestionOutcome, unknown]>([
  [
    { kind: "timeout" },
    {
      question: "?",
      choices_offered: [],
      user_response: "[No answer came in time. Use your best judgement and state what you assumed.]",
    },
  ],
  [
    { kind: "unattended" },
    { error: "no user is available to answer; use your best judgement and state what you assumed" },
  ],
  [{ kind: "interrupted" }, { error: "the question was interrupted and has no answer" }],
])("%j", async (answered, expected) => {
  await using bench = await toolBench()
  expect(await bench.call(clarify, { question: "?" }, asking(answered).more)).toEqual(expected)
})

test("an empty question and an unattended run are errors", async () => {
  await using bench = await toolBench()
  const { asked, more } = asking(yes)
  expect(await bench.call(clarify, { question: "  " }, more)).toEqual({
    error: "question is empty: write what you want to know",
  })
  expect(asked).toEqual([])
  expect(await bench.call(clarify, { question: "?" })).toEqual({
    error: "no user is available to answer; use your best judgement and state what you assumed",
  })
})

test("its digest, and a short schema", () => {
  expect(clarify.runnable.digest?.({ tool: "clarify", args: {}, result: "" })).toBe("[clarify] asked user a question")
  const { name, description, parameters } = clarify
  expect(JSON.stringify({ name, description, parameters }).length).toBeLessThan(800)
})
