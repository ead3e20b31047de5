import { expect, test } from "vitest"
import { createRedactor } from "../base/redact.ts"
import { redactArgumentText, redactArguments } from "./redact-arguments.ts"

const redactor = createRedactor({ enabled: true, secrets: ["planted-secret-value"] })
const redact = (text: string): string => redactor.redact(text)

test("a token before an escaped quote is masked and the JSON stays valid", () => {
  const args = { command: 'curl -H "Authorization: Bearer abcdefghijklmnopqrstuvwxyz" https://x' }
  const masked = redactArgumentText(JSON.stringify(args), redact)
  expect(JSON.parse(masked)).toEqual({ command: 'curl -H "Authorization: Bearer abcdef...wxyz" https://x' })
})

test("fields are masked by their name, at any depth; other values stay", () => {
  expect(
    redactArguments({ list: [{ password: "hunter2hunter2" }], n: 1, t: "planted-secret-value", ok: null }, redact),
  ).toEqual({ list: [{ password: "***" }], n: 1, t: "plante...alue", ok: null })
})

test("text without secrets is returned unchanged, even when it is not JSON", () => {
  expect([redactArgumentText('{ "a" : 1 }', redact), redactArgumentText('{"a": "b', redact)]).toEqual([
    '{ "a" : 1 }',
    '{"a": "b',
  ])
  expect(redactArgumentText('{"a": "planted-secret-value', redact)).not.toContain("planted-secret")
})
