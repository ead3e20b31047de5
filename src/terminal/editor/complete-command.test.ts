import { expect, test } from "vitest"

import { completeCommand } from "./complete-command.ts"
import { draftOf } from "./draft.ts"

const NAMES = ["help", "model", "memory", "queue", "quit"]

test.each([
  ["/hel", "/help ", undefined],
  ["/HEL", "/help ", undefined],
  ["/m", "/m", "/model  /memory"],
  ["/qu", "/qu", "/queue  /quit"],
  ["/", "/", "/help  /model  /memory  /queue  /quit"],
])("%s becomes %s", (typed, text, hint) => {
  expect(completeCommand(draftOf(typed), NAMES)).toEqual({
    draft: draftOf(text),
    ...(hint === undefined ? {} : { hint }),
  })
})

test.each([["/x"], ["help"], ["/help me"], ["/help\n/m"], [""]])("%j stays as it is", (typed) => {
  expect(completeCommand(draftOf(typed), NAMES)).toBeUndefined()
})

test("only at the end of the word", () => {
  expect(completeCommand({ text: "/hel", cursor: 2 }, NAMES)).toBeUndefined()
})
