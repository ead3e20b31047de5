import { expect, test } from "vitest"
import { isSecretKey, maskSecret, maskSecrets, secretVariable } from "./secrets.ts"

test.each([
  ["", "***"],
  ["short", "***"],
  ["12345678901", "***"],
  ["123456789012", "1234...9012"],
  ["sk-proj-abcdef1234567890ABCD", "sk-p...ABCD"],
])("%s is shown as %s", (secret, shown) => {
  expect(maskSecret(secret)).toBe(shown)
})

test.each([
  ["OPENAI_API_KEY", "OPENAI_API_KEY"],
  ["my_token", "MY_TOKEN"],
  ["TERMINAL_SSH_HOST", "TERMINAL_SSH_HOST"],
  ["FAL_KEY", "FAL_KEY"],
  ["timezone", undefined],
  ["paste_collapse_threshold", undefined],
  ["a-b_token", undefined],
])("config set %s goes to %s", (name, expected) => {
  expect(secretVariable(name)).toBe(expected)
})

test.each([
  ["api_key", true],
  ["GITHUB_TOKEN", true],
  ["Authorization", true],
  ["apiKey", true],
  ["max_tokens", false],
  ["token_count", false],
  ["keyboard", false],
])("%s holds a secret: %s", (key, expected) => {
  expect(isSecretKey(key)).toBe(expected)
})

test("a tree is shown without its secrets", () => {
  const tree = {
    model: { api_key: "sk-1234567890abc", default: "m" },
    list: [{ token: "short", name: "n" }],
    key: "",
    max_tokens: 5,
  }
  expect(maskSecrets(tree)).toEqual({
    model: { api_key: "sk-1...0abc", default: "m" },
    list: [{ token: "***", name: "n" }],
    key: "",
    max_tokens: 5,
  })
})
