import { expect, test } from "vitest"

import { withDecodedForms } from "./canonical-text.ts"

test("the parts of a text that are encoded are decoded, also more than once", () => {
  const twice = Buffer.from("visit %65%76%69%6c.example now").toString("base64")
  expect(withDecodedForms(`see ${twice} and &#x65;vil-two \\u0065vil-three`)).toEqual(
    expect.arrayContaining(["visit %65%76%69%6c.example now", "evil.example", "evil-two", "evil-three"]),
  )
})

test.each(["a", "%", "&#", "\\u00", "0x", "é"])(
  "a long word of %j takes a processor time that grows with its length",
  (part) => {
    const seconds = (length: number): number => {
      const before = process.cpuUsage()
      withDecodedForms(part.repeat(length / part.length))
      const { user, system } = process.cpuUsage(before)
      return (user + system) / 1e6
    }
    // 128 s before, with 200,000 characters.
    expect(seconds(200_000)).toBeLessThan(5)
  },
)
