import { describe, expect, test } from "vitest"

import { SETTINGS } from "../../../test/fixtures/agent/histories.ts"
import { windowBudget } from "./window-budget.ts"

const model = (contextLength: number, name = "test-model", provider = "custom") => ({
  provider,
  model: name,
  contextLength,
})

describe("threshold, target and tail by window", () => {
  test.each([
    [200_000, 0.5, 100_000, 80_000, 20_000],
    [1_000_000, 0.5, 500_000, 400_000, 100_000],
    [128_000, 0.5, 64_000, 51_200, 12_800],
    [100_000, 0.5, 64_000, 51_200, 12_800],
    [76_000, 0.5, 64_000, 51_200, 12_800],
    [64_000, 0.5, 57_600, 46_080, 6400],
    [32_000, 0.5, 28_800, 23_040, 3200],
    [16_000, 0.5, 13_952, 11_161, 1600],
    [8192, 0.5, 6963, 5570, 819],
    [272_000, 0.85, 231_200, 184_960, 46_240],
    [32_000, 0.9, 28_800, 23_040, 5760],
  ])("%i at %d", (window, share, threshold, target, tail) => {
    const budget = windowBudget(model(window), { ...SETTINGS, threshold: share })
    expect([budget.threshold, budget.target, budget.tail]).toEqual([threshold, target, tail])
  })
})

describe("models with a higher threshold", () => {
  test.each([
    ["openai-codex", "gpt-5.5", true, 231_200],
    ["openai-codex", "openai/gpt-5.5-mini", true, 231_200],
    ["openai-codex", "gpt-5.5", false, 136_000],
    ["openrouter", "gpt-5.5", true, 136_000],
    ["openrouter", "arcee-ai/Trinity-Large-Thinking", true, 204_000],
  ])("%s %s", (provider, name, codexAutoraise, threshold) => {
    expect(windowBudget(model(272_000, name, provider), { ...SETTINGS, codexAutoraise }).threshold).toBe(threshold)
  })
})

test.each([
  [{ targetRatio: 0.01 }, 10_000],
  [{ targetRatio: 0.99 }, 80_000],
])("the ratio of the tail stays in its bounds: %j", (settings, tail) => {
  expect(windowBudget(model(200_000), { ...SETTINGS, ...settings }).tail).toBe(tail)
})

describe("lengths of a summary", () => {
  test.each([
    [200_000, 2000, 10_000],
    [1_000_000, 2000, 12_000],
    [8192, 1638, 409],
  ])("%i", (window, min, ceiling) => {
    const budget = windowBudget(model(window), SETTINGS)
    expect([budget.summaryMin, budget.summaryCeiling]).toEqual([min, ceiling])
  })
})

describe("the cap for a smaller summary model", () => {
  test.each([
    [32_000, 32_000, 25_600, 6400],
    [1000, 4000, 3200, 800],
    [500_000, 100_000, 80_000, 20_000],
  ])("%i", (cap, threshold, target, tail) => {
    const budget = windowBudget(model(200_000), SETTINGS, cap)
    expect([budget.threshold, budget.target, budget.tail]).toEqual([threshold, target, tail])
  })
})
