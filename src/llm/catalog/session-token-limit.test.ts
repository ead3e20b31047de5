import { expect, test } from "vitest"

import { NO_USAGE, type Usage } from "../../protocol/usage.ts"
import { tokenRefusal, tokenWarning } from "./session-token-limit.ts"

function usage(parts: Partial<Usage>): Usage {
  return { ...NO_USAGE, ...parts }
}

const REFUSED = "this session has used 900 tokens and model.max_session_tokens allows 1K; raise it to continue"

test.each<[string, Parameters<typeof tokenRefusal>[0], string | undefined]>([
  ["without a limit", { limit: null, used: usage({ input: 9e9 }), last: undefined, estimatedTokens: 9e9 }, undefined],
  ["the first request fits", { limit: 1000, used: NO_USAGE, last: undefined, estimatedTokens: 1000 }, undefined],
  [
    "the first request is too long already",
    { limit: 1000, used: NO_USAGE, last: undefined, estimatedTokens: 1001 },
    "this session has used 0 tokens and model.max_session_tokens allows 1K; raise it to continue",
  ],
  [
    "the last request and its reply are input again",
    {
      limit: 1000,
      used: usage({ input: 850, output: 50 }),
      last: usage({ input: 80, output: 21 }),
      estimatedTokens: 0,
    },
    REFUSED,
  ],
  [
    "which still fits",
    {
      limit: 1000,
      used: usage({ input: 850, output: 50 }),
      last: usage({ input: 80, output: 20 }),
      estimatedTokens: 0,
    },
    undefined,
  ],
  [
    "cached tokens count too",
    {
      limit: 1000,
      used: usage({ input: 100, cacheRead: 500, cacheWrite: 250, output: 50 }),
      last: usage({ cacheRead: 60, cacheWrite: 41 }),
      estimatedTokens: 0,
    },
    REFUSED,
  ],
  [
    "the estimate counts when it is higher",
    { limit: 1000, used: usage({ input: 900 }), last: usage({ input: 10 }), estimatedTokens: 101 },
    REFUSED,
  ],
  [
    "a limit that is reached stays reached",
    { limit: 900, used: usage({ input: 900 }), last: undefined, estimatedTokens: 0 },
    "this session has used 900 tokens and model.max_session_tokens allows 900; raise it to continue",
  ],
])("%s", (_name, state, expected) => {
  expect(tokenRefusal(state)).toBe(expected)
})

test.each<[number | null, number, string | undefined]>([
  [null, 1e9, undefined],
  [1000, 799, undefined],
  [1000, 800, "this session has used 800 of the 1K tokens that model.max_session_tokens allows"],
])("a limit of %s with %i used", (limit, input, expected) => {
  expect(tokenWarning({ limit, used: usage({ input }) })).toBe(expected)
})
