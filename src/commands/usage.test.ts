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

async function said(session: object, stored: Readonly<Record<string, object>> = { s1: row }) {
  const context_ = {
    app: {
      clock: { now: () => NOW },
      store: () => Promise.resolve({ session: (id: string) => Promise.resolve(stored[id]) }),
    },
    session: { id: toSessionId("s1"), facts, context, rateLimits: {}, ...session },
  } as unknown as SlashContext
  const outcome = await usageCommand.run("", context_)
  return outcome.kind === "say" ? outcome.text.split("\n") : [outcome.kind]
}

test("tokens by kind, cost, context, and what the provider still allows", async () => {
  const bucket = { limit: 100, remaining: 50, resetSeconds: 90, capturedAt: NOW - 30_000 }
  const rateLimits = {
    requests: bucket,
    "requests-1h": { ...bucket, remaining: 10 },
    tokens: { ...bucket, limit: 40_000, resetSeconds: 0 },
    "tokens-1h": { ...bucket, resetSeconds: 20 },
  }
  expect(await said({ rateLimits })).toEqual([
    "model        m (p)",
    "calls        3",
    "read         5.5K tokens (1K new, 4K from the cache, 500 new and kept in the cache)",
    "written      250 tokens, 100 of them thoughts",
    "cost         ~$0.50",
    "context      4.9K of 8.19K tokens, made shorter at 6K",
    "requests     50 of 100 left at the provider, all of them again in 1m",
    "requests/h   10 of 100 left at the provider, all of them again in 1m (nearly used up)",
    "tokens       50 of 40K left at the provider (nearly used up)",
    "tokens/h     50 of 100 left at the provider at the last answer, all of them again since",
  ])
})

test("what was used before compressions counts, what a branch came from does not", async () => {
  const stored = {
    s1: { ...row, parent: "s0" },
    s0: { ...row, parent: "old", endReason: "compression" },
    old: { ...row, endReason: "branched" },
  }
  const lines = await said({}, stored)
  expect(lines.slice(1, 5)).toEqual([
    "calls        6",
    "read         11K tokens (2K new, 8K from the cache, 1K new and kept in the cache)",
    "written      500 tokens, 200 of them thoughts",
    "cost         ~$1.00",
  ])
})

test.each([
  [{ costStatus: "included", estimatedCostUsd: 0 }, "included"],
  [{ costStatus: "unknown", estimatedCostUsd: null }, "unknown"],
  [{ costStatus: "unknown", estimatedCostUsd: 0.25 }, "~$0.25, without calls of unknown price"],
  [{ costStatus: "actual", estimatedCostUsd: 0.3, actualCostUsd: 0.004 }, "$0.0040"],
])("a cost of %j", async (more, expected) => {
  expect((await said({}, { s1: { ...row, ...more } }))[4]).toBe(`cost         ${expected}`)
})

test("before the first call, and in a conversation that is not saved", async () => {
  const unknown = { ...context, contextLength: 0 }
  expect(await said({ context: unknown }, {})).toEqual(["model        m (p)", "tokens       none yet"])
  expect(await said({ context: unknown, facts: { ...facts, unsaved: "the disk is full" } })).toEqual([
    "model        m (p)",
    "tokens       not counted, because this conversation is not saved: the disk is full",
  ])
})
