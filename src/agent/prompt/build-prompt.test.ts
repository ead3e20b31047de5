import { expect, test } from "vitest"
import { joinLayers, promptLayers } from "./build-prompt.ts"
import type { PromptFacts } from "./build-prompt.ts"

const facts: PromptFacts = {
  soul: "",
  platform: "cli",
  workspace: { os: "Linux", release: "6", user: "a", home: "/home/a", cwd: "/w" },
  environmentHint: "",
  profile: "default",
  tools: [{ name: "memory", description: "", parameters: {} }],
  model: "m",
  taskCompletionGuidance: true,
  toolUseEnforcement: true,
  memory: { memory: ["uses bun"], user: [] },
  startedAt: new Date(2026, 0, 2, 3, 4, 5),
}
const names = (given: PromptFacts): readonly string[] => promptLayers(given).map(({ name }) => name)

test("layers come in order of how rarely they change; empty ones are left out", () => {
  expect(names(facts)).toEqual([
    "identity",
    "platform",
    "environment",
    "tool use",
    "finishing",
    "memory guidance",
    "steering",
    "memory",
    "date",
  ])
  expect(names({ ...facts, tools: [], platform: "other", memory: { memory: [], user: [] } })).toEqual([
    "identity",
    "environment",
    "date",
  ])
})

test("the text is the same for all sessions of a day", () => {
  const later = { ...facts, startedAt: new Date(2026, 0, 2, 23, 59, 59) }
  expect(joinLayers(promptLayers(later))).toBe(joinLayers(promptLayers(facts)))
})

test("an own identity replaces the default, and another profile is named", () => {
  const text = joinLayers(promptLayers({ ...facts, soul: " I am Iris. ", profile: "work", sessionId: "s1" }))
  expect([
    text.startsWith("I am Iris.\n\n"),
    text.includes("Active profile: work."),
    text.includes("Session ID: s1"),
  ]).toEqual([true, true, true])
})
