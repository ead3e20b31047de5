import { expect, test } from "vitest"

import { plainTheme } from "../../../test/fixtures/tui/themes.ts"
import { textColumns } from "../../terminal/text-width.ts"
import { bannerRows } from "./banner.ts"
import type { BannerFacts } from "./banner.ts"

const FACTS: BannerFacts = {
  version: "0.1.0",
  model: "anthropic/claude-sonnet-4.5",
  provider: "openrouter",
  contextWindow: 200_000,
  directory: "~/projects/hermes",
  branch: "main",
  backend: "docker",
  permissionProfile: "default",
  toolsets: [
    { name: "file", tools: ["read_file", "write_file"] },
    { name: "terminal", tools: ["terminal"] },
  ],
  skills: 12,
  mcp: { connected: 1, total: 2 },
  profile: "work",
  systemPromptTokens: 9000,
  updateHint: "Version 0.2.0 is available.",
}

test.each([40, 60, 80, 120])("at %i columns", (columns) => {
  const rows = bannerRows(FACTS, { theme: plainTheme, columns })
  for (const row of rows) expect(textColumns(row)).toBeLessThanOrEqual(columns)
  expect(`\n${rows.join("\n")}\n`).toMatchSnapshot()
})

test("what is not known yet or not unusual is left out", () => {
  const {
    toolsets: _tools,
    skills: _skills,
    mcp: _mcp,
    updateHint: _hint,
    systemPromptTokens: _prompt,
    ...early
  } = FACTS
  const facts = { ...early, profile: "default", backend: "local", branch: undefined, contextWindow: undefined }
  expect(bannerRows(facts, { theme: plainTheme, columns: 80 })).toEqual([
    "⚕ Hermes 0.1.0",
    "  model       anthropic/claude-sonnet-4.5 (openrouter)",
    "  directory   ~/projects/hermes",
    "  permissions default",
    "",
    "Welcome.",
  ])
})

test("compact", () => {
  const compact = (columns: number): readonly string[] =>
    bannerRows(FACTS, { theme: plainTheme, columns, compact: true })
  expect(compact(100)).toEqual(["⚕ Hermes 0.1.0 · claude-sonnet-4.5 · profile work · ~/projects/hermes (main)"])
  expect(compact(40)).toEqual(["⚕ Hermes 0.1.0 · claude-sonnet-4.5 · pr…"])
})
