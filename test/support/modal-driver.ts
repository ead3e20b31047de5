import { expect } from "vitest"

import type { Modal } from "../../src/tui/modals/modal.ts"
import { textColumns } from "../../src/terminal/text-width.ts"
import { plainTheme } from "../fixtures/tui/themes.ts"

/** Draws a modal and checks that it fits and contains nothing that a terminal interprets. */
export function drawn<T>(
  modal: Modal<T>,
  {
    columns = 80,
    rows = 24,
    now = 1000,
  }: { readonly columns?: number; readonly rows?: number; readonly now?: number } = {},
): readonly string[] {
  const drawing = modal.draw({ size: { columns, rows }, theme: plainTheme, now })
  expect(drawing.rows.length).toBeLessThanOrEqual(rows)
  for (const row of drawing.rows) {
    expect(row).not.toMatch(/[\p{Cc}\u{202A}-\u{202E}\u{2066}-\u{2069}]/u)
    expect(textColumns(row), row).toBeLessThanOrEqual(columns)
  }
  const { cursor } = drawing
  if (cursor !== undefined) {
    expect(cursor.row).toBeLessThan(drawing.rows.length)
    expect(cursor.column).toBeLessThan(columns)
  }
  return drawing.rows.map((row) => row.trimEnd())
}

/** The user thinks about each key. */
const PAUSE_MS = 2000

/** Presses keys: chords such as `ctrl+d`, or single characters, with a pause before each. Returns the first decision. */
export function press<T>(
  modal: Modal<T>,
  keys: readonly string[],
  now = 10_000,
  pauseMs = PAUSE_MS,
): { readonly decision: T } | undefined {
  for (const [index, chord] of keys.entries()) {
    const text = Array.from(chord).length === 1 ? chord : chord === "space" ? " " : ""
    const decided = modal.key({ type: "key", chord, text }, now + index * pauseMs)
    if (decided !== undefined && "decision" in decided) return decided
  }
  return undefined
}

export function type<T>(modal: Modal<T>, text: string, now = 10_000): { readonly decision: T } | undefined {
  return press(modal, Array.from(text), now)
}
