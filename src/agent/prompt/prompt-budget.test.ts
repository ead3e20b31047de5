import { expect, test } from "vitest"

import { fc } from "../../../test/support/property.ts"
import { fitToBudget } from "./prompt-budget.ts"
import type { DraftLayer, PromptBudget } from "./prompt-budget.ts"

const NAMES = [
  "skills index",
  "session context",
  "project context",
  "memory",
  "user profile",
  "learnings",
  "runtime introspection",
] as const
type Sizes = Partial<Record<(typeof NAMES)[number] | "identity", number>>

/** Layers of these many tokens. Introspection is dropped as a whole, skills shrink to 600 tokens of names, the others are cut. */
function layersOf(sizes: Sizes): readonly DraftLayer[] {
  const identity = { name: "identity", text: "i".repeat((sizes.identity ?? 0) * 4) }
  return [identity, ...NAMES.map((name) => draft(name, (sizes[name] ?? 0) * 4))].filter(({ text }) => text !== "")
}

function draft(name: string, chars: number): DraftLayer {
  const text = "x".repeat(chars)
  if (name === "runtime introspection") return { name, text, shorten: () => "" }
  if (name === "skills index") return { name, text, shorten: () => "n".repeat(2400) }
  return { name, text, shorten: (maxChars) => text.slice(0, maxChars) }
}

const window32k: PromptBudget = { totalTokens: 0, contextLength: 32_000, layers: {} }

function fit(sizes: Sizes, budget: PromptBudget = window32k): Sizes {
  return Object.fromEntries(
    fitToBudget(layersOf(sizes), budget).map(({ name, text }) => [name, Math.ceil(text.length / 4)]),
  )
}

test.each<[string, Sizes, PromptBudget, Sizes]>([
  [
    "everything fits",
    { "project context": 1500, memory: 300, "user profile": 200 },
    window32k,
    { "project context": 1500, memory: 300, "user profile": 200 },
  ],
  [
    "a layer may use what others leave",
    { "project context": 4700, memory: 100 },
    window32k,
    { "project context": 4700, memory: 100 },
  ],
  [
    "memory is reduced first, then skills, the project last",
    { "project context": 4000, "skills index": 2000, memory: 500 },
    window32k,
    { "project context": 3912, "skills index": 600, memory: 288 },
  ],
  [
    "only as much as needed is taken",
    { "project context": 4000, memory: 500, "runtime introspection": 200, "session context": 250 },
    window32k,
    { "project context": 4000, memory: 500, "runtime introspection": 0, "session context": 250 },
  ],
  [
    "a large budget",
    { "project context": 4000, "skills index": 2000, memory: 500 },
    { ...window32k, totalTokens: 100_000 },
    { "project context": 4000, "skills index": 2000, memory: 500 },
  ],
  [
    "a small window has 4,000",
    { "project context": 5000 },
    { ...window32k, contextLength: 8000 },
    { "project context": 4000 },
  ],
  ["identity is outside the budget", { identity: 9000, memory: 10 }, window32k, { identity: 9000, memory: 10 }],
  [
    "a limit of one layer holds although there is room",
    { "user profile": 100, memory: 100 },
    { ...window32k, layers: { user_profile: 30, memory: "many", project_context: -1 } },
    { "user profile": 30, memory: 100 },
  ],
])("%s", (_, sizes, budget, expected) => {
  expect(fit(sizes, budget)).toEqual(expected)
})

test("the sum always fits, and equal layers give equal bytes", () => {
  const size = fc.nat({ max: 20_000 })
  const sizes = fc.record(
    Object.fromEntries(NAMES.filter((name) => name !== "skills index").map((name) => [name, size])),
  )
  fc.assert(
    fc.property(sizes, (given) => {
      const fitted = fitToBudget(layersOf(given), window32k)
      const tokens = fitted.reduce((sum, { text }) => sum + Math.ceil(text.length / 4), 0)
      expect(tokens).toBeLessThanOrEqual(4800)
      expect(fitToBudget(layersOf(given), window32k).map(({ text }) => text)).toEqual(fitted.map(({ text }) => text))
    }),
  )
})
