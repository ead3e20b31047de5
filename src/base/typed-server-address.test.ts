import { expect, test } from "vitest"

import { typedServerAddress } from "./typed-server-address.ts"

test.each([
  ["http://localhost:11434/v1", "http://localhost:11434/v1"],
  [" http://localhost:11434/v1/ ", "http://localhost:11434/v1"],
  ["HTTP://Box.local:8080", "http://box.local:8080"],
  ["https://models.example.com/openai/v1/chat/completions", "https://models.example.com/openai/v1"],
  ["http://127.0.0.1:8000/v1/models", "http://127.0.0.1:8000/v1"],
  ["localhost:1234", "http://localhost:1234"],
  ["192.168.1.7:8080/v1", "http://192.168.1.7:8080/v1"],
  ["[::1]:8080", "http://[::1]:8080"],
  // Names of models and other text.
  ["qwen3:14b", undefined],
  ["vendor/model:free", undefined],
  ["localhost", undefined],
  ["http://", undefined],
  ["http://a b", undefined],
  ["look at http://localhost:11434", undefined],
  ["ftp://localhost:21", undefined],
])("%j: %j", (text, address) => {
  expect(typedServerAddress(text)).toBe(address)
})
