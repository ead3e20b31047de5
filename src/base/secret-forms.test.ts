import { expect, test } from "vitest"

import { createRedactor } from "./redact.ts"

const SECRET = "canary/Value+77?secret"
const redactor = createRedactor({ enabled: true, secrets: [SECRET] })
const hex = Buffer.from(SECRET).toString("hex")

test.each([
  ["base64", Buffer.from(SECRET).toString("base64")],
  ["base64 after other text", Buffer.from(`key=${SECRET}&x=1`).toString("base64")],
  ["base64 after a character", Buffer.from(`a${SECRET}`).toString("base64")],
  ["base64 after two characters", Buffer.from(`ab${SECRET}cd`).toString("base64")],
  ["base64 for URLs", Buffer.from(SECRET).toString("base64url")],
  ["hexadecimal", hex],
  ["upper-case hexadecimal", hex.toUpperCase()],
  ["a URL", encodeURIComponent(SECRET)],
  ["every character as %XX", hex.replaceAll(/../gu, "%$&").toUpperCase()],
  ["backwards", Array.from(SECRET).toReversed().join("")],
  ["parts of code", `"${SECRET.slice(0, 5)}" + "${SECRET.slice(5)}"`],
  ["lines", `${SECRET.slice(0, 9)}\n${SECRET.slice(9)}`],
  ["single characters", Array.from(SECRET).join(" ")],
])("a known secret is masked as %s", (_, text) => {
  const masked = redactor.redact(`before ${text} after`)
  expect(masked).toMatch(/^before .*\*\*\*.* after$/su)
  const squeezed = masked.replaceAll(/["\s+]/gu, "")
  expect([squeezed.includes("Value"), squeezed.length < `before${text}after`.length]).toEqual([false, true])
})

test("ordinary text stays as it is", () => {
  const text = "The canary sings; a value of 77 is no secret.\n".repeat(50)
  expect(redactor.redact(text)).toBe(text)
})
