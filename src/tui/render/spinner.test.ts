import { expect, test } from "vitest"

import { plainTheme } from "../../../test/fixtures/tui/themes.ts"
import { spinnerFrame, waitingRow } from "./spinner.ts"

test("face, verb and time", () => {
  const row = (elapsedMs: number, more: { readonly activity?: string; readonly isThinking?: boolean } = {}): string =>
    waitingRow({ theme: plainTheme, columns: 40, elapsedMs, ...more })
  expect(row(0)).toBe("⠋ (◔_◔) pondering... (0.0s)")
  expect(row(1250)).toBe("⠙ (◔_◔) pondering... (1.3s)")
  expect(row(2600)).toBe("⠋ (¬‿¬) musing... (2.6s)")
  expect(row(0, { isThinking: true })).toBe("⠋ (⌐■_■) pondering... (0.0s)")
  expect(row(0, { activity: "waiting for\nthe model" })).toBe("⠋ (◔_◔) waiting for the model... (0.0s)")
  expect(waitingRow({ theme: plainTheme, columns: 20, elapsedMs: 0 })).toBe("⠋ (◔_◔) ponde (0.0s)")
})

test("a skin may have wings, or nothing at all", () => {
  const empty = { frames: [], waitingFaces: [], thinkingFaces: [], thinkingVerbs: [], wings: [] }
  const bare = { ...plainTheme, spinner: empty }
  expect(waitingRow({ theme: bare, columns: 40, elapsedMs: 0 })).toBe("thinking... (0.0s)")
  expect(spinnerFrame(bare, 500)).toBe("")
  const winged = { ...plainTheme, spinner: { ...plainTheme.spinner, wings: [["<", ">"] as const] } }
  expect(waitingRow({ theme: winged, columns: 40, elapsedMs: 0 })).toBe("⠋ <(◔_◔)> pondering... (0.0s)")
})
