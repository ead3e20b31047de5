import { expect, test } from "vitest"
import { createRedactor } from "../../../base/redact.ts"
import { maskPrivateKeys } from "./mask-private-keys.ts"

const redactor = createRedactor({ enabled: true, secrets: [] })
const off = createRedactor({ enabled: false, secrets: [] })
const KEY = ["-----BEGIN RSA PRIVATE KEY-----", "A".repeat(64), "B".repeat(64), "-----END RSA PRIVATE KEY-----"]

test("a masked key keeps the line numbers of the file", () => {
  const lines = ["before", ...KEY, "after"]
  expect(maskPrivateKeys(lines, (text) => redactor.redact(text))).toEqual([
    "before",
    "[REDACTED PRIVATE KEY]",
    "",
    "",
    "",
    "after",
  ])
})

test("a key without an end line extends as far as its lines look like key data", () => {
  expect(maskPrivateKeys([...KEY.slice(0, 3), "after"], (text) => redactor.redact(text))).toEqual([
    "[REDACTED PRIVATE KEY]",
    "",
    "",
    "after",
  ])
})

test("nothing changes when redaction is disabled or there is no key", () => {
  expect(maskPrivateKeys(KEY, (text) => off.redact(text))).toEqual(KEY)
  expect(maskPrivateKeys(["a"], (text) => redactor.redact(text))).toEqual(["a"])
})
