import { expect, test } from "vitest"

import { parseJson5 } from "./json5.ts"

test("settings as people write them are decoded", () => {
  const text = `// a comment with "quotes" and {braces}
  {
    plain: 1, 'single': 'it\\'s // no comment', "double": "a\\u0041\\n", $key_2: [.5, +3, 0x1F, -2e3, true, null,],
    /* block, */ nested: { url: "https://x.example/a?b=1,2" , },
  }`
  expect(parseJson5(text)).toEqual({
    plain: 1,
    single: "it's // no comment",
    double: "aA\n",
    $key_2: [0.5, 3, 31, -2000, true, null],
    nested: { url: "https://x.example/a?b=1,2" },
  })
  expect(parseJson5('{"a": 1}')).toEqual({ a: 1 })
})

test("anything else is refused", () => {
  for (const text of ["", "{", "{ a: b }", "{ a: 'x }", "function () {}", "{ a: 1 } /* open", "{,}", '{"a" 1}'])
    expect(parseJson5(text)).toBeUndefined()
})

test("hostile text takes no longer than its length", () => {
  expect(parseJson5("[".repeat(100_000))).toBeUndefined()
  expect(parseJson5(`{${"/*".repeat(50_000)}`)).toBeUndefined()
  expect(parseJson5(`'${"\\".repeat(100_001)}`)).toBeUndefined()
})
