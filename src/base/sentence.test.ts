import { expect, test } from "vitest"

import { asSentence } from "./sentence.ts"

test.each([
  ["cannot open it", "Cannot open it."],
  ["config.yaml does not parse", "config.yaml does not parse."],
  ["~/x is broken (line 1)", "~/x is broken (line 1)."],
  ["Is it?", "Is it?"],
  ["use `hermes`", "Use `hermes`"],
])("%j becomes %j", (message, sentence) => {
  expect(asSentence(message)).toBe(sentence)
})
