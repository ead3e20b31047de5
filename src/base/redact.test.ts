import { describe, expect, test } from "vitest"
import { createRedactor } from "./redact.ts"

const redactor = createRedactor({ enabled: true, secrets: [] })
const KEY_BLOCK = "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA7\nabc\n-----END RSA PRIVATE KEY-----"

describe("masks", () => {
  test.each([
    ["sk-proj-abcdef1234567890ABCD", "sk-pro...ABCD"],
    ["key sk-abcdefghijklmnop1234", "key sk-abc...1234"],
    ["ghp_0123456789abcdef", "ghp_01...cdef"],
    ["OPENAI_API_KEY=sk-proj-abcdef1234567890ABCD", "OPENAI_API_KEY=***"],
    ["OPENAI_API_KEY=abcd1234", "OPENAI_API_KEY=***"],
    ["MY_TOKEN=hello", "MY_TOKEN=***"],
    ['export DB_PASSWORD="abcdefghijklmnopqrstuvwxyz"', 'export DB_PASSWORD="abcdef...wxyz"'],
    ["MAX_TOKENS=4096", "MAX_TOKENS=***"],
    ['"apiKey": "supersecretvalue123456"', '"apiKey": "supers...3456"'],
    ['{"apiKey": "abcdefghijklmnopqrstuvwx"}', '{"apiKey": "abcdef...uvwx"}'],
    ['{"password":"a\\"b","next":1}', '{"password":"***","next":1}'],
    ["Authorization: Bearer abcdefghijklmnopqrstuv", "Authorization: Bearer abcdef...stuv"],
    ["Authorization: Bearer abcdefghijklmnopqrstuvwxyz", "Authorization: Bearer abcdef...wxyz"],
    ['curl -H "Authorization: Bearer short"', 'curl -H "Authorization: Bearer ***"'],
    ["postgres://u:p4ss@h/db", "postgres://u:***@h/db"],
    ["postgres://u:p4ss@db/x", "postgres://u:***@db/x"],
    ["mongodb+srv://u:p4ss@h/db", "mongodb+srv://u:***@h/db"],
    [`123456789:${"A".repeat(35)}`, "123456789:***"],
    [`bot12345678:${"A".repeat(35)}`, "bot12345678:***"],
    ["a=1&token=zz&b=2", "a=1&token=***&b=2"],
    ["a=1&token=zzz&b=2", "a=1&token=***&b=2"],
    ["first\n  grant=x&client_secret=y  \nlast", "first\n  grant=x&client_secret=***  \nlast"],
    ["call +15551234567 now", "call +155****4567 now"],
    ["+1234567", "+1****67"],
    ["AKIAABCDEFGHIJKLMNOP", "AKIAAB...MNOP"],
    [`SG.${"a".repeat(22)}.${"b".repeat(43)}`, "SG.aaa...bbbb"],
    [`AIza${"x".repeat(35)}`, "AIzaxx...xxxx"],
    ["eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl", "eyJhbG...dXJl"],
    ["https://x.io/cb?token=eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0", "https://x.io/cb?token=eyJhbG...xIn0"],
    [`before ${KEY_BLOCK} after`, "before [REDACTED PRIVATE KEY] after"],
    [`${KEY_BLOCK}\n${KEY_BLOCK}`, "[REDACTED PRIVATE KEY]\n[REDACTED PRIVATE KEY]"],
    ["-----BEGIN PRIVATE KEY-----\nMIIEpAIBAAKCAQEA7abc\nrest", "[REDACTED PRIVATE KEY]\nrest"],
  ])("%j", (text, redacted) => {
    expect(redactor.redact(text)).toBe(redacted)
  })
})

describe("does not mask", () => {
  test.each([
    "tokenizer=abc",
    '"token_count": "5"',
    '{"token_count": "12"}',
    "lesk-abcdefghijklmnop",
    "https://x.io/cb?code=ABC123",
    "https://h/cb?code=ABC&state=x",
    "sk-short",
    "https://user:pass@example.org/",
    "12:30:45 +0000",
    "a=1 & token=zz",
    "The header -----BEGIN PRIVATE KEY----- starts a block",
    "if (AUTH == other) return",
    '"password": ""',
    "",
  ])("%j", (text) => {
    expect(redactor.redact(text)).toBe(text)
  })
})

describe("code files", () => {
  test.each([
    ["MAX_TOKENS=4096", "MAX_TOKENS=4096"],
    ['{"token": "placeholder-value"}', '{"token": "placeholder-value"}'],
    ['x = "sk-abcdefghijklmnop1234"', 'x = "sk-abc...1234"'],
  ])("%j", (text, redacted) => {
    expect(redactor.redact(text, { codeFile: true })).toBe(redacted)
  })
})

describe("values from .env", () => {
  test("are masked wherever they appear, the longest first, when they have 8 characters or more", () => {
    const known = createRedactor({ enabled: true, secrets: ["hunter2!", "hunter2!-and-a-long-tail", "short"] })
    expect(known.redact("hunter2!-and-a-long-tail, hunter2!, short")).toBe("hunter...tail, ***, short")
  })

  test("may contain characters with a special meaning in a replacement", () => {
    const known = createRedactor({ enabled: true, secrets: ["pa$$word$&x"] })
    expect(known.redact("is pa$$word$&x.")).toBe("is ***.")
  })
})

test("a disabled redactor changes nothing unless forced", () => {
  const off = createRedactor({ enabled: false, secrets: ["hunter2-secret"] })
  expect(off.redact("MY_TOKEN=hello hunter2-secret")).toBe("MY_TOKEN=hello hunter2-secret")
  expect(off.redact("MY_TOKEN=hello hunter2-secret", { force: true })).toBe("MY_TOKEN=*** ***")
})

describe("one megabyte of hostile text takes linear time", () => {
  const megabyte = (unit: string): string => unit.repeat(Math.ceil(1_000_000 / unit.length))
  test.each([
    ["letters", megabyte("A")],
    ["digits", megabyte("1")],
    ["secret names", megabyte("TOKEN_")],
    ["names with blanks", megabyte("TOKEN  ")],
    ["prefixes", megabyte("sk-")],
    ["prefixes with blanks", megabyte("sk-a ")],
    ["quotes", megabyte('"')],
    ["unfinished fields", megabyte('"token":"\\')],
    ["an endless field", `"token":"${megabyte("\\a")}`],
    ["key headers", megabyte("-----BEGIN PRIVATE KEY-----\n")],
    ["database addresses", megabyte("postgres://u:")],
    ["web tokens", megabyte("eyJ.")],
    ["dots", `SG.${megabyte("a.")}`],
    ["pairs", megabyte("a=b&")],
    ["plus signs", megabyte("+1")],
    ["bearers", megabyte("authorization: bearer ")],
    ["telegram", megabyte("12345678:")],
    ["prose", megabyte("The quick brown fox jumps over the lazy dog. ")],
  ])("%s", (_name, text) => {
    // Processor time, because a busy machine makes everything slower. Quadratic work would take minutes.
    const before = process.cpuUsage()
    redactor.redact(text)
    expect(process.cpuUsage(before).user).toBeLessThan(1500000)
  })
})
