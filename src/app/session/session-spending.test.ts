import { describe, expect, test } from "vitest"

import type { ModelRuntime } from "../../llm/model.ts"
import { NO_USAGE } from "../../protocol/usage.ts"
import type { Usage } from "../../protocol/usage.ts"
import { createSpending } from "./session-spending.ts"

const SONNET: ModelRuntime = {
  provider: "anthropic",
  model: "claude-sonnet-4-6",
  wire: "anthropic_messages",
  baseUrl: "https://api.anthropic.com",
  contextLength: 200_000,
  credentialSource: "ANTHROPIC_API_KEY",
  billingMode: "metered",
}
const NEARBY: ModelRuntime = { ...SONNET, provider: "custom", baseUrl: "http://127.0.0.1:1/v1", billingMode: "local" }
const UNLISTED: ModelRuntime = { ...SONNET, provider: "acme", model: "house-blend" }

function ledger(options: Partial<Parameters<typeof createSpending>[0]> = {}) {
  return createSpending({
    limitTokens: null,
    used: NO_USAGE,
    listedPrices: () => Promise.resolve(undefined),
    limitUsd: null,
    spentUsd: 0,
    cacheTtl: "5m",
    ...options,
  })
}

/** 3 USD a million. */
function reads(tokens: number): Usage {
  return { ...NO_USAGE, input: tokens }
}

describe("the price of a call", () => {
  const usage: Usage = { input: 100_000, output: 20_000, cacheRead: 310_000, cacheWrite: 1000, reasoning: 7 }

  test.each([
    { name: "of a listed model", runtime: SONNET, cacheTtl: "5m", usd: 0.69675, status: "estimated" },
    { name: "with cache entries of an hour", runtime: SONNET, cacheTtl: "1h", usd: 0.699, status: "estimated" },
    { name: "of a model in no list", runtime: UNLISTED, cacheTtl: "5m", usd: null, status: "unknown" },
    { name: "of a server nearby", runtime: NEARBY, cacheTtl: "5m", usd: 0, status: "included" },
  ] as const)("$name", async ({ runtime, cacheTtl, usd, status }) => {
    const cost = await ledger({ cacheTtl }).record(runtime, usage)
    expect([cost.usd, cost.status]).toEqual([usd, status])
  })

  test("says where it comes from", async () => {
    const { source, version } = await ledger().record(SONNET, usage)
    expect([source, version]).toEqual(["table", expect.stringMatching(/^\d{4}-\d{2}/)])
  })

  test("is unknown where the usage was not reported, and zero for models that are not metered", async () => {
    const costs = [await ledger().record(SONNET, undefined), await ledger().record(NEARBY, undefined)]
    expect(costs.map(({ usd, status }) => [usd, status])).toEqual([
      [null, "unknown"],
      [0, "included"],
    ])
  })
})

describe("the limit", () => {
  test("without one nothing is refused", async () => {
    const spending = ledger({ spentUsd: 1e6 })
    expect(await spending.refusal(SONNET, 1e9)).toBeUndefined()
  })

  test.each([
    { tokens: 100_000, spentUsd: 0.7, refused: false },
    { tokens: 100_001, spentUsd: 0.7, refused: true },
    { tokens: 0, spentUsd: 0.999_999_999, refused: false },
    { tokens: 0, spentUsd: 1, refused: true },
  ])("1 USD, $spentUsd spent and $tokens tokens to read: refused $refused", async ({ tokens, spentUsd, refused }) => {
    const sentence = await ledger({ limitUsd: 1, spentUsd }).refusal(SONNET, tokens)
    expect(sentence !== undefined).toBe(refused)
  })

  test("the sentence has both amounts and the setting", async () => {
    expect(await ledger({ limitUsd: 0.5, spentUsd: 0.612_34 }).refusal(SONNET, 0)).toBe(
      "this session has cost $0.6123 and model.max_session_cost_usd allows $0.5; raise it to continue",
    )
  })

  test("the refusal before the limit is reached states what would exceed it", async () => {
    expect(await ledger({ limitUsd: 0.5, spentUsd: 0.4 }).refusal(SONNET, 50_000)).toBe(
      "this session has cost $0.4000, and the next request (about $0.1500) would exceed the $0.5 that model.max_session_cost_usd allows; raise it to continue",
    )
  })

  test("what is recorded counts, to the billionth", async () => {
    const spending = ledger({ limitUsd: 0.3 })
    for (let call = 0; call < 99; call += 1) {
      await spending.record(SONNET, reads(1000))
      expect([call, await spending.refusal(SONNET, 1000)]).toEqual([call, undefined])
    }
    await spending.record(SONNET, reads(1000))
    expect(await spending.refusal(SONNET, 1000)).toBeDefined()
  })

  test("a new turn is measured by what the last one left", async () => {
    const spending = ledger({ limitUsd: 0.5 })
    await spending.record(SONNET, reads(60_000))
    expect(await spending.refusal(SONNET, 0)).toBeUndefined()
    await spending.record(SONNET, { ...reads(50_000), cacheRead: 100_000 })
    expect(await spending.refusal(SONNET, 0)).toBeDefined()
  })

  test("an unknown price never blocks", async () => {
    const spending = ledger({ limitUsd: 0.000_001 })
    await spending.record(UNLISTED, reads(1_000_000))
    expect(await spending.refusal(UNLISTED, 1_000_000)).toBeUndefined()
  })
})

test("a warning is given once near the limit, and free models are never refused", async () => {
  const spending = ledger({ limitUsd: 0.5 })
  await spending.record(SONNET, reads(60_000))
  expect(spending.warning()).toBeUndefined()
  await spending.record(SONNET, reads(100_000))
  expect(spending.warning()).toMatch(/0\.4800 of the \$0\.5/)
  expect(spending.warning()).toBeUndefined()
  await spending.record(SONNET, reads(100_000))
  expect(await spending.refusal({ ...SONNET, billingMode: "local" }, 1e9)).toBeUndefined()
})

describe("calls besides the conversation", () => {
  test("an auxiliary call counts, but the next request is measured by the conversation", async () => {
    const spending = ledger({ limitUsd: 0.5, limitTokens: 200_000 })
    await spending.record(SONNET, reads(10_000))
    await spending.recordAuxiliary(SONNET, reads(100_000))
    expect(await spending.refusal(SONNET, 0)).toBeUndefined()
    await spending.recordAuxiliary(SONNET, reads(50_000))
    expect(await spending.refusal(SONNET, 0)).toMatch(/0\.4800.*about \$0\.0300/)
  })

  test("concurrent calls are all counted", async () => {
    const spending = ledger()
    await Promise.all(Array.from({ length: 50 }, () => spending.recordAuxiliary(SONNET, reads(1000))))
    expect([spending.takeRunCost(), spending.takeRunCost()]).toEqual([
      { usd: 0.15, status: "estimated" },
      { usd: 0, status: "included" },
    ])
  })

  test("a background turn counts and is limited, but does not take the warning or change the next request", async () => {
    const spending = ledger({ limitUsd: 0.5 })
    const review = spending.inBackground()
    await review.record(SONNET, reads(140_000))
    expect([review.warning(), spending.warning()]).toEqual([undefined, expect.stringContaining("0.4200") as string])
    expect([await review.refusal(SONNET, 0), await spending.refusal(SONNET, 0)]).toEqual([
      expect.stringContaining("would exceed") as string,
      undefined,
    ])
  })

  test("after a compression the next request is measured by its own size", async () => {
    const spending = ledger({ limitUsd: 0.5 })
    await spending.refusal(SONNET, 120_000)
    await spending.record(SONNET, reads(120_000))
    expect(await spending.refusal(SONNET, 120_100)).toBeDefined()
    expect(await spending.refusal(SONNET, 5000)).toBeUndefined()
  })
})
