import { describe, expect, test } from "vitest"

import { colorTheme, plainTheme, readable } from "../../../test/fixtures/tui/themes.ts"
import { compactCount, compactDuration } from "../../base/compact-count.ts"
import { textColumns } from "../../terminal/text-width.ts"
import { contextRole, shortModelName, statusBar, windowSize } from "./status-bar.ts"
import type { StatusBarState } from "./status-bar.ts"

const STATE: StatusBarState = {
  model: "anthropic/claude-sonnet-4.5",
  context: { used: 12_400, window: 200_000 },
  compressions: 0,
  backgroundTasks: 0,
  backgroundProcesses: 0,
  sessionSeconds: 90,
  turn: undefined,
  permissionProfile: "default",
  queued: 0,
  isDemo: false,
}
const bar = (state: Partial<StatusBarState>, columns: number): string =>
  statusBar({ ...STATE, ...state }, { theme: plainTheme, columns })
    .join("\n")
    .trim()

describe("values", () => {
  test.each([
    [999, "999"],
    [1000, "1K"],
    [1234, "1.23K"],
    [12_400, "12.4K"],
    [99_950, "100K"],
    [1_048_576, "1.05M"],
  ])("%i tokens used are %s", (tokens, shown) => {
    expect(compactCount(tokens)).toBe(shown)
  })

  test.each([
    [128_000, "128K"],
    [131_072, "131K"],
    [200_000, "200K"],
    [1_000_000, "1M"],
    [1_048_576, "1M"],
    [512, "512"],
  ])("a window of %i is %s", (tokens, shown) => {
    expect(windowSize(tokens)).toBe(shown)
  })

  test.each([
    [59.4, "59s"],
    [90, "2m"],
    [3600, "1h"],
    [3660, "1h 1m"],
    [90_000, "1.0d"],
  ])("%d seconds are %s", (seconds, shown) => {
    expect(compactDuration(seconds)).toBe(shown)
  })

  test.each([
    ["gpt-5", "gpt-5"],
    ["a/b/model.gguf", "model"],
    ["x".repeat(26), "x".repeat(26)],
    ["x".repeat(27), `${"x".repeat(23)}...`],
  ])("the model %s is %s", (model, shown) => {
    expect(shortModelName(model)).toBe(shown)
  })

  test.each([
    [0, "status_bar_good"],
    [49, "status_bar_good"],
    [50, "status_bar_warn"],
    [80, "status_bar_warn"],
    [81, "status_bar_bad"],
    [94, "status_bar_bad"],
    [95, "status_bar_critical"],
  ])("%i percent have the colour %s", (percent, role) => {
    expect(contextRole(percent)).toBe(role)
  })
})

describe("layout", () => {
  const busy: Partial<StatusBarState> = {
    compressions: 1,
    backgroundTasks: 2,
    backgroundProcesses: 3,
    turn: { kind: "running", seconds: 12 },
    permissionProfile: "full-auto",
    queued: 2,
    isDemo: true,
    directory: "~/project",
    branch: "main",
    costUsd: 0.123,
  }

  test("wide", () => {
    expect(bar({}, 76)).toBe("⚕ claude-sonnet-4.5 │ 12.4K/200K │ [█░░░░░░░░░] 6% │ 2m")
    expect(bar(busy, 200)).toBe(
      "⚕ claude-sonnet-4.5 │ 12.4K/200K │ [█░░░░░░░░░] 6% │ 🗜️ 1 │ ▶ 2 │ ⚙ 3 │ 2m │ ⏱ 12s │ $0.12 │ ⚠ YOLO │ 2 queued │ offline demo │ ~/project (main)",
    )
    expect(bar({ turn: { kind: "idle", seconds: 3 } }, 80)).toContain("│ ✓ 3s")
  })

  test("what matters least is left out first", () => {
    expect(bar(busy, 80)).toBe("⚕ claude-sonnet-4.5 │ 12.4K/200K │ [█░░░░░░░░░] 6% │ 🗜️ 1 │ ▶ 2 │ ⚙ 3 │ ⚠ YOLO")
  })

  test("medium and narrow", () => {
    expect(bar(busy, 75)).toBe("⚕ claude-sonnet-4.5 · 6% · 🗜️ 1 ▶ 2 ⚙ 3 · 2m · ⚠ YOLO · offline demo")
    expect(bar({}, 60)).toBe("⚕ claude-sonnet-4.5 · 6% · 2m")
    expect(bar({}, 51)).toBe("⚕ claude-sonnet-4.5 · 2m")
    expect(bar(busy, 40)).toBe("⚕ claude-sonnet-4.5 · 2m · ⚠ YOLO")
  })

  test("an unknown context, other profiles, a full window", () => {
    expect(bar({ context: undefined }, 80)).toBe("⚕ claude-sonnet-4.5 │ ctx -- │ [░░░░░░░░░░] -- │ 2m")
    expect(bar({ permissionProfile: "plan" }, 60)).toContain("PLAN")
    expect(bar({ permissionProfile: "accept-edits" }, 60)).toContain("accept-edits")
    expect(bar({ context: { used: 300_000, window: 200_000 } }, 80)).toContain("[██████████] 150%")
  })

  test("the share of the context is coloured, and the row fills the screen", () => {
    const row = readable(
      statusBar({ ...STATE, context: { used: 96, window: 100 } }, { theme: colorTheme, columns: 80 }).join(""),
    )
    expect(row).toContain("<status_bar_critical>[██████████] 96%</>")
    for (const columns of [20, 40, 60, 80, 120]) {
      expect(textColumns(statusBar({ ...STATE, ...busy }, { theme: plainTheme, columns }).join("\n"))).toBe(columns)
    }
  })
})
