import { expect, test } from "vitest"

import { isInside } from "./is-inside.ts"

test.each([
  ["/a", "/a", true],
  ["/a/b/c", "/a", true],
  ["/a/..b", "/a", true],
  ["/", "/a", false],
  ["/ab", "/a", false],
  ["/a/../b", "/a", false],
])("%s inside %s: %s", (path, directory, expected) => {
  expect(isInside(path, directory)).toBe(expected)
})
