import { expect, test } from "vitest"

import { fileSize } from "./file-size.ts"

test.each([
  [0, "0 B"],
  [1023, "1023 B"],
  [1024, "1.0 KB"],
  [1_572_864, "1.5 MB"],
  [5 * 1024 ** 4, "5.0 TB"],
  [5 * 1024 ** 5, "5120.0 TB"],
])("%i bytes are %s", (bytes, text) => {
  expect(fileSize(bytes)).toBe(text)
})
