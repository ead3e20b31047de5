import { expect, test } from "vitest"
import {
  isSecretKey,
  maskAddressPasswords,
  maskSecret,
  maskSecrets,
  secretValuesIn,
  secretVariable,
} from "./secrets.ts"

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
  ["api_server_key", "API_SERVER_KEY"],
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
  ["x-api-key", true],
  ["AWS_SECRET_ACCESS_KEY", true],
  ["AWS_ACCESS_KEY_ID", false],
  ["AWS_BEARER_TOKEN_BEDROCK", true],
  ["API_SERVER_KEY", true],
  ["FAL_KEY", true],
  ["HERMES_DATABASE_URL", false],
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
    api_keys: ["sk-1234567890abc"],
    key: "",
    max_tokens: 5,
  }
  expect(maskSecrets(tree)).toEqual({
    model: { api_key: "sk-1...0abc", default: "m" },
    list: [{ token: "***", name: "n" }],
    api_keys: ["sk-1...0abc"],
    key: "",
    max_tokens: 5,
  })
})

test("secrets of a tree: by name, in headers, and as passwords of addresses", () => {
  const tree = {
    model: { base_url: "https://me:p%40ss-word@host/v1", api_key: "key-1", default: "m" },
    default_headers: { "x-extra-key": "key-2", "X-Author": "somebody", Cookie: "key-3" },
    providers: [{ api_key: "${FROM_ENVIRONMENT}", token: ["key-4"], extra_headers: { "x-trace": "on" } }],
    proxy: "socks5://u:100%@p",
  }
  expect(secretValuesIn(tree)).toEqual(["p%40ss-word", "p@ss-word", "key-1", "key-2", "key-3", "key-4", "100%"])
})

test.each([
  ["http://me:secret@host/v1 does not answer", "http://me:***@host/v1 does not answer"],
  ["http://host:80/a@b", "http://host:80/a@b"],
  ["a://b:c@d and e://f:g@h", "a://b:c@d and e://f:g@h"],
  ["ab://b:c@d and ef://f:g@h", "ab://b:***@d and ef://f:***@h"],
])("%s is shown as %s", (text, shown) => {
  expect(maskAddressPasswords(text)).toBe(shown)
})
