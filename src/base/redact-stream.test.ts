import fc from "fast-check"
import { describe, expect, test } from "vitest"

import { createRedactor } from "./redact.ts"

const SECRETS = ["hunter2!", "hunter2!-and-a-long-tail", "pa$$ word$&x"]
const redactor = createRedactor({ enabled: true, secrets: SECRETS })
const KEY_BLOCK = "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA7\nabc\n-----END RSA PRIVATE KEY-----"

function shown(pieces: readonly string[], mask = redactor.stream()): string {
  return pieces.map((piece) => mask.feed(piece)).join("") + mask.flush()
}

const TEXTS = [
  "the key is sk-proj-abcdef1234567890ABCD, keep it",
  "(ghp_0123456789abcdef)",
  "sk-short and am_ and task-force",
  "OPENAI_API_KEY=sk-proj-abcdef1234567890ABCD\nMY_TOKEN = hello there",
  'export DB_PASSWORD="abcdefghijklmnopqrstuvwxyz" # done',
  '{"apiKey": "abcdefghijklmnopqrstuvwx", "next": {"token" : "a b\\"c", "count": 5}}',
  "curl -H 'Authorization: Bearer abcdefghijklmnopqrstuv' https://x.io",
  "use postgres://u:p4ss@h/db or https://user:pass@example.org/",
  `bot 123456789:${"A".repeat(35)} is it, at 12:30:45 +0000`,
  "a=1&token=zz&b=2\nplain\n  grant=x&client_secret=y  \nlast",
  "call +15551234567 now, or use C++ and 1 + 2",
  `SG.${"a".repeat(22)}.${"b".repeat(43)} AIza${"x".repeat(35)} AKIAABCDEFGHIJKLMNOP`,
  "https://x.io/cb?token=eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0 ok",
  `before ${KEY_BLOCK} after\n${KEY_BLOCK}\n`,
  "-----BEGIN PRIVATE KEY-----\nMIIEpAIBAAKCAQEA7abc\nrest",
  "| a | b |\n|-----|-----|\n| 1 | 2 |\n-----\nThe header -----BEGIN CERTIFICATE----- starts a block",
  "say hunter2!-and-a-long-tail, hunter2!, hunter and pa$$ word$&x.",
  "if (AUTH == other) return tokenizer=abc",
]

describe("a streamed text is shown as the redactor would show the whole text", () => {
  test.each(TEXTS)("%j", (text) => {
    expect(shown([text])).toBe(redactor.redact(text))
    expect(shown(text.split(""))).toBe(redactor.redact(text))
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 12 }), { minLength: 1, maxLength: 12 }), (sizes) => {
        const pieces: string[] = []
        for (let at = 0, turn = 0; at < text.length; turn += 1) {
          const size = sizes[turn % sizes.length] ?? 1
          pieces.push(text.slice(at, at + size))
          at += size
        }
        expect(shown(pieces)).toBe(redactor.redact(text))
      }),
    )
  })
})

describe("encoded secrets are masked in a stream", () => {
  const secret = "walrus-teapot-31-dotenv"
  const own = createRedactor({ enabled: true, secrets: [secret] })
  const bytes = Buffer.from(secret)
  test.each([
    ["base64", bytes.toString("base64")],
    ["base64 behind other bytes", Buffer.from(`a:${secret}`).toString("base64")],
    ["base64 before other bytes", Buffer.from(`${secret} and more`).toString("base64")],
    ["hexadecimal", bytes.toString("hex")],
    ["upper-case hexadecimal", bytes.toString("hex").toUpperCase()],
    ["URL-encoded", Array.from(bytes, (byte) => `%${byte.toString(16)}`).join("")],
    ["reversed", secret.split("").toReversed().join("")],
  ])("%s", (_name, form) => {
    const text = `Here it is: ${form}, twice: ${form}.\nDone, it was ${form}`
    // The longest part of the encoded text that stands for the secret alone.
    const core = form.slice(6, -6)
    for (const size of [1, 2, 3, 4, 7, 50, 1000]) {
      const pieces = text.match(new RegExp(`[^]{1,${size}}`, "gu")) ?? []
      const result = shown(pieces, own.stream())
      expect(result.includes(core)).toBe(false)
      expect(result.match(/\*\*\*/gu)).toHaveLength(3)
      expect(result.replaceAll(/\S*\*\*\*\S*/gu, "X")).toBe("Here it is: X twice: X\nDone, it was X")
    }
  })

  test("nothing of an ordinary text is changed, and less than a word is held back", () => {
    const words = fc.array(
      fc.constantFrom("d2", "the", "2Fsc", "d2Fs", "776", "7761", "nothing", " ", "\n", "vne", "vnet"),
    )
    fc.assert(
      fc.property(words, (pieces) => {
        const mask = own.stream()
        let seen = ""
        let given = ""
        for (const piece of pieces) {
          given += piece
          seen += mask.feed(piece)
          expect(given.startsWith(seen)).toBe(true)
          expect(given.length - seen.length).toBeLessThan(24)
        }
        expect(seen + mask.flush()).toBe(given)
      }),
    )
  })
})

test("plain words are shown at once, a possible beginning of a secret once it turns out not to be one", () => {
  const mask = redactor.stream()
  const pieces = ["Hello", " wor", "ld, it", "'s", " fine", ".\n", "Tas", "ks: ", "s", "end sk", "-12", " ok"]
  expect(pieces.map((piece) => mask.feed(piece))).toEqual([
    "Hello",
    " wor",
    "ld, it",
    "'",
    "s fine",
    ".\n",
    "Tas",
    "ks: ",
    "",
    "send ",
    "",
    "sk-12 ok",
  ])
})

test("with redaction disabled nothing is held back or masked", () => {
  const mask = createRedactor({ enabled: false, secrets: SECRETS }).stream()
  expect([mask.feed("sk-proj-abcdef123"), mask.feed("4567890ABCD"), mask.flush()]).toEqual([
    "sk-proj-abcdef123",
    "4567890ABCD",
    "",
  ])
})

test("text without an end is not held back forever", () => {
  const mask = redactor.stream()
  const first = mask.feed('{"token": "')
  const pieces = Array.from({ length: 50 }, () => mask.feed("x".repeat(1000)))
  expect(first + pieces.join("") + mask.flush()).toBe(`{"token": "${"x".repeat(50_000)}`)
  expect(pieces.some((piece) => piece !== "")).toBe(true)
})

test("a secret that is added during a stream is masked from then on, even across chunks", () => {
  const learning = createRedactor({ enabled: true, secrets: [] })
  const mask = learning.stream()
  expect(mask.feed("first zebra-kettle-41, ")).toBe("first zebra-kettle-41, ")
  learning.addSecrets(["zebra-kettle-41", "short", "zebra-kettle-41"])
  expect(shown(["then ze", "bra-kett", "le-41 and", " short"], mask)).toBe("then *** and short")
  expect(learning.redact("zebra-kettle-41 short")).toBe("*** short")
})
