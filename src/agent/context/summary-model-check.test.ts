import { describe, expect, test } from "vitest"

import { checkSummaryModel } from "./summary-model-check.ts"

const facts = (summaryContextLength: number | undefined, thresholdTokens = 100_000) =>
  checkSummaryModel({ thresholdTokens, contextLength: 200_000, summaryModel: "small", summaryContextLength })

describe("the window of the summary model", () => {
  test.each([
    ["unknown", undefined],
    ["as large as the threshold", 100_000],
    ["larger", 1_000_000],
  ])("%s: nothing to do", (_name, window) => {
    expect(facts(window)).toEqual({})
  })

  test.each([
    [80_000, 80_000],
    [1000, 4000],
  ])("smaller than the threshold (%i): compression starts earlier, with a warning", (window, thresholdCap) => {
    const found = facts(window)
    expect(found.thresholdCap).toBe(thresholdCap)
    expect(found.warning).toContain("auxiliary.compression.model")
    expect(found.warning).toContain(String(window))
  })

  test("small, but enough for the threshold: only a warning", () => {
    const found = facts(32_000, 27_200)
    expect(found.thresholdCap).toBeUndefined()
    expect(found.warning).toContain("auxiliary.compression.model")
  })
})
