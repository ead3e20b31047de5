import { expect, test } from "vitest"

import { charCount, isLongerThan } from "./char-count.ts"

test.each([
  ["", 0],
  ["abc", 3],
  ["é", 1],
  ["😀a😀", 3],
])("%j has %i characters", (text, count) => {
  expect(charCount(text)).toBe(count)
  expect([isLongerThan(text, count), isLongerThan(text, count - 1)]).toEqual([false, true])
})
