import { expect, test } from "vitest"

import { toSessionId } from "../protocol/identifiers.ts"
import type { SlashContext } from "./slash-command.ts"
import { usageCommand } from "./usage.ts"

const NOW = 1_000_000
const facts = { model: "m", provider: "p" }
const context = { contextLength: 8192, thresholdTokens: 6000, lastPromptTokens: 4900 }
const row = {
  parent: null,
  endReason: null,
  apiCallCount: 3,
  usage: { input: 1000, output: 250, cacheRead: 4000, cacheWrite: 500, reasoning: 100 },
  estimatedCostUsd: 0.5,
  actualCostUsd: null,
  costStatus: "estimated",
}

async function usageLines(session: object, stored: Readonly<Record<string, object>> = { s1: row }) {
  const slashContext = {
    app: {
      clock: { now: () => NOW },
      store: () =>
        Promise.resolve({
          session: (id: string) => Promise.resolve(stored[id]),
          lineage: () => Promise.resolve([]),
        }),
    },
    session: { id: toSessionId("s1"), facts, context, rateLimits: {}, ...session },
  } as unknown as SlashContext
  const outcome = await usageCommand.run("", slashContext)
  return outcome.kind === "reply" ? outcome.text.split("\n") : [outcome.kind]
}

test("shows tokens by kind, cost, context and rate limits", async () => {
  const bucket = { limit: 100, remaining: 50, resetSeconds: 90, capturedAt: NOW - 30_000 }
  const rateLimits = {
    requests: bucket,
    "requests-1h": { ...bucket, remaining: 10 },
    tokens: { ...bucket, limit: 40_000, resetSeconds: 0 },
    "tokens-1h": { ...bucket, resetSeconds: 20 },
  }
  expect(await usageLines({ rateLimits })).toEqual([
    "model        m (p)",
    "calls        3",
    "input        5.5K tokens (1K uncached, 4K read from the cache, 500 written to the cache)",
    "output       250 tokens (100 reasoning)",
    "cost         ~$0.50",
    "context      4.9K of 8.19K tokens, compressed at 6K",
    "requests     50 of 100 left, resets in 1m",
    "requests/h   10 of 100 left, resets in 1m (close to the limit)",
    "tokens       50 of 40K left (close to the limit)",
    "tokens/h     50 of 100 left at the last request, reset since then",
  ])
})

test("includes sessions that a compression ended, but not the parent of a branch", async () => {
  const stored = {
    s1: { ...row, parent: "s0" },
    s0: { ...row, parent: "old", endReason: "compression" },
    old: { ...row, endReason: "branched" },
  }
  const lines = await usageLines({}, stored)
  expect(lines.slice(1, 5)).toEqual([
    "calls        6",
    "input        11K tokens (2K uncached, 8K read from the cache, 1K written to the cache)",
    "output       500 tokens (200 reasoning)",
    "cost         ~$1.00",
  ])
})

test.each([
  [{ costStatus: "included", estimatedCostUsd: 0 }, "included"],
  [{ costStatus: "unknown", estimatedCostUsd: null }, "unknown"],
  [{ costStatus: "unknown", estimatedCostUsd: 0.25 }, "~$0.25, without calls whose price is unknown"],
  [{ costStatus: "actual", estimatedCostUsd: 0.3, actualCostUsd: 0.004 }, "$0.0040"],
])("the cost of %j is %s", async (more, expected) => {
  expect((await usageLines({}, { s1: { ...row, ...more } }))[4]).toBe(`cost         ${expected}`)
})

test("reports no tokens before the first call, and why an unsaved conversation is not counted", async () => {
  const unknown = { ...context, contextLength: 0 }
  expect(await usageLines({ context: unknown }, {})).toEqual(["model        m (p)", "tokens       none yet"])
  expect(await usageLines({ context: unknown, facts: { ...facts, unsaved: "the disk is full" } })).toEqual([
    "model        m (p)",
    "tokens       not counted, because this conversation is not saved: the disk is full",
  ])
})
