import { describe, expect, test } from "vitest"

import { PROVIDERS } from "../providers.ts"
import { createCatalog, loadCatalog } from "./catalog.ts"

const small = createCatalog({
  version: "test 1",
  providers: {
    anthropic: { "claude-opus-4-7": [1_000_000, 128_000, 5, 25, 0.5, 6.25, 15] },
    xai: { "grok-4.3": [1_000_000, 30_000, 1.25, 2.5, 0.2, null, 3, 200_000, 2.5, 5, 0.4, null] },
  },
})

describe("a model of the catalogue", () => {
  test("has all fields of its row, including tiers", () => {
    expect(small.find("xai", "grok-4.3")).toEqual({
      id: "grok-4.3",
      contextLength: 1_000_000,
      maxOutput: 30_000,
      prices: {
        input: 1_250_000_000n,
        output: 2_500_000_000n,
        cacheRead: 200_000_000n,
        cacheWrite: null,
        tiers: [
          { above: 200_000, input: 2_500_000_000n, output: 5_000_000_000n, cacheRead: 400_000_000n, cacheWrite: null },
        ],
        source: "catalog",
        version: "test 1",
      },
      reasoning: true,
      vision: true,
      temperature: true,
      adaptiveThinking: false,
    })
  })

  test.each([
    ["anthropic", "claude-opus-4-7", "claude-opus-4-7"],
    ["anthropic", "Claude-Opus-4.7", "claude-opus-4-7"],
    ["xai-oauth", "grok-4.3", "grok-4.3"],
    ["anthropic", "claude-opus-4", undefined],
    ["constructor", "name", undefined],
    ["anthropic", "toString", undefined],
    ["unknown", "claude-opus-4-7", undefined],
  ])("%s %s is found as %s", (provider, model, id) => {
    expect(small.find(provider, model)?.id).toBe(id)
  })

  test("flags for adaptive thinking and no temperature", () => {
    expect(small.find("anthropic", "claude-opus-4-7")).toMatchObject({ temperature: false, adaptiveThinking: true })
  })
})

describe("the snapshot", () => {
  test("has only known providers, each with models and integer context windows", async () => {
    const catalog = await loadCatalog()
    const covered = PROVIDERS.filter(({ id }) => catalog.list(id).length > 0)
    const models = covered.flatMap(({ id }) => catalog.list(id).map((model) => catalog.find(id, model)))
    expect(covered.length).toBeGreaterThan(15)
    expect(
      models.filter((model) => !Number.isInteger(model?.contextLength) || (model?.contextLength ?? 0) < 1024),
    ).toEqual([])
  })

  test("an unknown price is null and a free model's price is zero", async () => {
    const catalog = await loadCatalog()
    const free = catalog.list("openrouter").find((id) => id.endsWith(":free")) ?? ""
    expect(catalog.find("openrouter", free)?.prices).toMatchObject({ input: 0n, output: 0n })
    expect(catalog.find("zai", "glm-5.3-highspeed")?.prices).toMatchObject({ input: null, output: null })
  })
})
