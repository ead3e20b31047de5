import { expect, test } from "vitest"

import { parseAvailableOutputTokens, parseImageLimit, parseContextWindow } from "./error-limits.ts"

test.each([
  [
    "max_tokens: 32768 > context_window: 200000 - input_tokens: 190000 = available_tokens: 10000",
    { output: 10_000, window: undefined },
  ],
  ["max_tokens is above the available tokens, since 200000 - 190000 = 10000", { output: 10_000, window: undefined }],
  ["max_tokens: 9 > available_tokens: 0", { output: undefined, window: undefined }],
  [
    "maximum context length is 131072 tokens. You requested 140768 (100000 of text input, 8000 of tool input, 32768 in the output)",
    { output: 23_072, window: 131_072 },
  ],
  [
    "maximum context length is 131072 tokens (100000 of text input, 32768 in the output)",
    { output: 31_072, window: 131_072 },
  ],
  [
    "maximum context length is 65536 tokens, you requested 65536 output tokens and your prompt contains 77409 characters",
    { output: 39_733, window: 65_536 },
  ],
  [
    "maximum context length is 8192 tokens, you requested 100 output tokens and your prompt contains 77409 characters",
    { output: undefined, window: 8192 },
  ],
  ["maximum context length is 32768 tokens", { output: undefined, window: 32_768 }],
  ["prompt is too long: 250000 tokens > 200000 maximum", { output: undefined, window: 200_000 }],
  ["Maximum context size 32768 exceeded", { output: undefined, window: 32_768 }],
  ["exceeds the available context size (4096 tokens)", { output: undefined, window: 4096 }],
  ["the input exceeds the 16384 token limit", { output: undefined, window: 16_384 }],
  ["maximum context length is 1000 tokens", { output: undefined, window: undefined }],
  ["maximum context length is 99999999 tokens", { output: undefined, window: undefined }],
  ["context_length_exceeded: 131072", { output: undefined, window: undefined }],
  ["rate limit", { output: undefined, window: undefined }],
])("%s", (text, expected) => {
  expect({ output: parseAvailableOutputTokens(text), window: parseContextWindow(text) }).toEqual(expected)
})

test.each([
  ["image exceeds 5 MB maximum: 6281240 bytes > 5242880 bytes", { maxBytes: 5_242_880 }],
  ["image exceeds 5 MB", { maxBytes: 5_000_000 }],
  ["image size exceeds 512 KB", { maxBytes: 512_000 }],
  [
    "messages.0.content.1.image: At least one of the image dimensions exceed max allowed size: 8000 pixels",
    { maxSide: 8000 },
  ],
  ["image dimensions exceed max allowed size for many-image requests: 2000 pixels", { maxSide: 2000 }],
  ["image too large: at most 1024 px and 1.5 MiB", { maxSide: 1024, maxBytes: 1_500_000 }],
  ["image too large", {}],
])("%s: the largest image", (text, expected) => {
  expect(parseImageLimit(text)).toEqual(expected)
})
