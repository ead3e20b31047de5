import { expect, test } from "vitest"

import { environmentFrom } from "../../config/environment.ts"
import { requestTimeouts } from "./request-timeouts.ts"
import type { TimeoutFacts } from "./request-timeouts.ts"

const CLOUD = { wire: "chat_completions", local: false, streaming: true } as const
const S = 1000

test.each<[string, Partial<TimeoutFacts>, Readonly<Record<string, string>>, number, object]>([
  ["a stream", {}, {}, 1000, { connectMs: 30 * S, idleMs: 180 * S, staleMs: 180 * S, totalMs: 1800 * S }],
  ["a long one", {}, {}, 50_001, { idleMs: 240 * S, staleMs: 240 * S }],
  ["a very long one", {}, {}, 100_001, { idleMs: 300 * S, staleMs: 300 * S }],
  ["a response in one piece", { streaming: false }, {}, 1000, { idleMs: 90 * S, staleMs: 90 * S }],
  ["a long one in one piece", { streaming: false }, {}, 60_000, { idleMs: 150 * S }],
  ["a very long one in one piece", { streaming: false }, {}, 200_000, { idleMs: 240 * S }],
  ["short Responses", { wire: "codex_responses" }, {}, 24_999, { firstByteMs: 120 * S, staleMs: 180 * S }],
  ["Responses", { wire: "codex_responses" }, {}, 25_000, { staleMs: 180 * S }],
  ["long Responses", { wire: "codex_responses" }, {}, 25_001, { staleMs: 600 * S }],
  ["longer Responses", { wire: "codex_responses" }, {}, 50_001, { staleMs: 900 * S }],
  ["the longest Responses", { wire: "codex_responses" }, {}, 100_001, { staleMs: 1200 * S }],
  ["Responses nearby", { wire: "codex_responses", local: true }, {}, 1000, { staleMs: 0 }],
  ["a server nearby", { local: true }, {}, 1000, { connectMs: 60 * S, idleMs: 0, staleMs: 0, totalMs: 1800 * S }],
  ["a server nearby that is hurried", { local: true, staleSeconds: 2 }, {}, 1000, { idleMs: 0, staleMs: 2 * S }],
  ["HERMES_API_TIMEOUT", {}, { HERMES_API_TIMEOUT: "60" }, 1000, { totalMs: 60 * S }],
  ["HERMES_API_TIMEOUT nearby", { local: true }, { HERMES_API_TIMEOUT: "60" }, 1000, { totalMs: 60 * S }],
  ["the provider's time before it", { requestSeconds: 9 }, { HERMES_API_TIMEOUT: "60" }, 1000, { totalMs: 9 * S }],
  ["a time that is none", {}, { HERMES_API_TIMEOUT: "soon" }, 1000, { totalMs: 1800 * S }],
  ["a time without end", {}, { HERMES_API_TIMEOUT: "Infinity" }, 1000, { totalMs: 2_000_000 * S }],
  [
    "HERMES_STREAM_STALE_TIMEOUT",
    {},
    { HERMES_STREAM_STALE_TIMEOUT: "5" },
    60_000,
    { idleMs: 120 * S, staleMs: 5 * S },
  ],
  [
    "HERMES_STREAM_READ_TIMEOUT",
    {},
    { HERMES_STREAM_READ_TIMEOUT: "200" },
    1000,
    { idleMs: 200 * S, staleMs: 180 * S },
  ],
  ["reading is never hurried more than thinking", {}, { HERMES_STREAM_READ_TIMEOUT: "5" }, 1000, { idleMs: 180 * S }],
  ["HERMES_STREAM_READ_TIMEOUT nearby", { local: true }, { HERMES_STREAM_READ_TIMEOUT: "5" }, 1000, { idleMs: 5 * S }],
  [
    "a longer stale timeout also applies to the first byte of Responses",
    { wire: "codex_responses", staleSeconds: 400 },
    {},
    1000,
    { firstByteMs: 400 * S, staleMs: 400 * S },
  ],
  [
    "HERMES_API_CALL_STALE_TIMEOUT for a response in one piece",
    { streaming: false },
    { HERMES_STREAM_STALE_TIMEOUT: "5", HERMES_API_CALL_STALE_TIMEOUT: "7" },
    1000,
    { idleMs: 7 * S },
  ],
  ["the provider's silence first", { staleSeconds: 3 }, { HERMES_STREAM_STALE_TIMEOUT: "5" }, 1000, { staleMs: 3 * S }],
])("%s", (_name, facts, variables, tokens, expected) => {
  const environment = environmentFrom(variables)
  const timeouts = requestTimeouts({ ...CLOUD, ...facts, environment }, tokens)
  expect(timeouts).toMatchObject(expected)
  expect(Object.hasOwn(timeouts, "firstByteMs")).toBe(Object.hasOwn(expected, "firstByteMs"))
})
