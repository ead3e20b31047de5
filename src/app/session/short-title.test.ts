import { expect, test } from "vitest"

import { shortTitle } from "./short-title.ts"

test.each([
  ["fix the build", "fix the build"],
  ["explain this\n\n```\ndiff --git a/x b/x\n```", "explain this"],
  ["explain this\n\n````\n# a\n```js\n1\n```\n````", "explain this"],
  ["```ts\nconst a = 1\n```", "const a = 1"],
  ["\u001B[31mred\u001B[0m \u001B]0;x\u0007text\u202Eexe", "red text exe"],
  ["\u{FFFD}PNG\r\n\u001A\n\0\0\0", "PNG"],
  ["\u{FFFD}\0\u{FFFD}", ""],
  ["word ".repeat(20), "word word word word word word word word word word word word"],
])("%j", (text, title) => {
  expect(shortTitle(text)).toBe(title)
})
