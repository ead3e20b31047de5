import { describe, expect, test } from "vitest"

import { addUsage, NO_USAGE, worseStatus, type Usage } from "../../protocol/usage.ts"
import { loadCatalog } from "./catalog.ts"
import { findPrices } from "./find-prices.ts"
import { parsePrice, parsePricePerToken } from "./prices.ts"
import { addUsd, costOf, nextRequestUsage, type Cost } from "./cost.ts"
import { fc } from "../../../test/support/property.ts"

async function priced(provider: string, model: string, usage: Partial<Usage>, cacheTtl?: "1h"): Promise<Cost> {
  const prices = findPrices({ provider, model }, await loadCatalog())
  return costOf({ ...NO_USAGE, ...usage }, { provider, model, prices, ...(cacheTtl && { cacheTtl }) })
}

describe("the cost of a call", () => {
  test.each<[string, string, Partial<Usage>, number | null, string]>([
    ["anthropic", "claude-opus-4.7", { input: 1_000_000, output: 100_000 }, 7.5, "estimated"],
    ["anthropic", "claude-sonnet-4-6", { input: 100_000, output: 20_000, cacheRead: 310_000 }, 0.693, "estimated"],
    ["openai-codex", "anything", { input: 5_000_000, output: 1 }, 0, "included"],
    ["custom", "my-model", { input: 10 }, null, "unknown"],
    ["openai-api", "gpt-4o", { input: 10, cacheWrite: 1 }, null, "unknown"],
    ["deepseek", "deepseek-chat", { input: 10, cacheRead: 1 }, null, "unknown"],
    ["deepseek", "deepseek-chat", { input: 1_000_000, output: 1_000_000 }, 0.42, "estimated"],
    ["openai-api", "gpt-4.1", {}, 0, "estimated"],
    ["openrouter", "unknown/unknown", { input: 1 }, null, "unknown"],
    ["", "anthropic/claude-haiku-4-5", { input: 1_000_000 }, 1, "estimated"],
    ["", "google/gemini-2.5-pro", { output: 1_000_000 }, 10, "estimated"],
    ["", "some-model", { input: 1 }, null, "unknown"],
    ["demo", "hermes-demo", { input: 100 }, 0, "included"],
    ["minimax-cn", "MiniMax-M2.7", { input: 1_000_000 }, 0.3137, "estimated"],
    ["anthropic", "claude-opus-4-6-20260101", { input: 1_000_000 }, 5, "estimated"],
    ["bedrock", "us.amazon.nova-micro-v1:0", { output: 1_000_000 }, 0.14, "estimated"],
  ])("%s %s %j: %s (%s)", async (provider, model, usage, usd, status) => {
    expect(await priced(provider, model, usage)).toMatchObject({ usd, status })
  })

  test("names the source of the price", async () => {
    expect(await priced("anthropic", "claude-opus-4-7", { input: 200 })).toEqual({
      usd: 0.001,
      status: "estimated",
      source: "table",
      version: "2026-11",
    })
    expect(await priced("xai", "grok-4.7", { input: 1_000 })).toEqual({
      usd: 0.002,
      status: "estimated",
      source: "catalog",
      version: "pi-ai 1.5.0",
    })
  })

  test("a long prompt is charged at its tier for all tokens", async () => {
    expect(await priced("xai", "grok-4.7", { input: 150_000, cacheRead: 50_000 })).toMatchObject({ usd: 0.325 })
    expect(await priced("xai", "grok-4.7", { input: 150_000, cacheRead: 50_001 })).toMatchObject({ usd: 0.650001 })
  })

  test("a cache entry that lives an hour costs twice the input price at Anthropic", async () => {
    expect(await priced("anthropic", "claude-sonnet-4-6", { cacheWrite: 1_000_000 })).toMatchObject({ usd: 3.75 })
    expect(await priced("anthropic", "claude-sonnet-4-6", { cacheWrite: 1_000_000 }, "1h")).toMatchObject({ usd: 6 })
  })

  test("a listed price overrides the built-in one, and the price per request is added", async () => {
    const listed = {
      input: parsePricePerToken("0.000001"),
      output: parsePricePerToken("0.000002"),
      cacheRead: null,
      cacheWrite: null,
      request: 5_000_000n,
      source: "provider" as const,
      version: "models list",
    }
    const prices = findPrices(
      { provider: "openrouter", model: "anthropic/claude-opus-4.7", listed },
      await loadCatalog(),
    )
    expect(costOf({ ...NO_USAGE, input: 10, output: 5 }, { provider: "openrouter", model: "x", prices })).toEqual({
      usd: 0.00502,
      status: "estimated",
      source: "provider",
      version: "models list",
    })
  })

  test("the sum of many calls equals the cost of their total usage", async () => {
    const prices = findPrices({ provider: "openai-api", model: "gpt-4.1" }, await loadCatalog())
    const context = { provider: "openai-api", model: "gpt-4.1", prices }
    const call = fc.record({ input: fc.nat(90_000), output: fc.nat(9_000), cacheRead: fc.nat(90_000) })
    fc.assert(
      fc.property(fc.array(call, { maxLength: 200 }), (calls) => {
        const usages = calls.map((part): Usage => ({ ...NO_USAGE, ...part }))
        const ledger = usages.reduce((sum, usage) => addUsd(sum, costOf(usage, context).usd ?? Number.NaN), 0)
        expect(ledger).toBe(costOf(usages.reduce(addUsage, NO_USAGE), context).usd)
      }),
    )
  })
})

describe("a price as text", () => {
  test.each<[string | number | null | undefined, bigint | null]>([
    ["0.0145", 14_500_000n],
    [0.1, 100_000_000n],
    [1e-7, 100n],
    ["3", 3_000_000_000n],
    [".5", 500_000_000n],
    [0, 0n],
    ["-1", null],
    ["", null],
    ["free", null],
    [Number.NaN, null],
    [null, null],
    [undefined, null],
  ])("%j is %s", (text, price) => {
    expect(parsePrice(text)).toBe(price)
  })
})

test.each([
  ["included", "included", "included"],
  ["included", "estimated", "estimated"],
  ["actual", "included", "actual"],
  ["estimated", "actual", "estimated"],
  ["estimated", "unknown", "unknown"],
  ["unknown", "included", "unknown"],
] as const)("a sum of %s and %s is %s, in either order", (a, b, expected) => {
  expect([worseStatus(a, b), worseStatus(b, a)]).toEqual([expected, expected])
})

test("the next request reads again what the last one cached, and pays for new input", async () => {
  const last = { input: 1000, output: 500, cacheRead: 300_000, cacheWrite: 10_000, reasoning: 100 }
  const next = nextRequestUsage(last)
  expect(next).toEqual({ input: 1500, output: 0, cacheRead: 310_000, cacheWrite: 0, reasoning: 0 })
  expect(await priced("anthropic", "claude-sonnet-4-6", next)).toMatchObject({ usd: 0.0975, status: "estimated" })
})
