import { codePointLength, takeCodePoints } from "../base/text.ts"
import type { ToolMarks } from "./tool.ts"

/** The `tool_results` settings. */
export interface ResultBudget {
  readonly defaultChars: number
  readonly turnChars: number
  readonly previewChars: number
  /** Threshold by tool name. */
  readonly overrides: Readonly<Record<string, number>>
}

export const DEFAULT_RESULT_BUDGET: ResultBudget = {
  defaultChars: 100_000,
  turnChars: 200_000,
  previewChars: 1500,
  overrides: {},
}

/**
 * How many characters of a tool's result go to the model before the result is saved to a file. An unlimited tool limits its
 * results itself; its threshold cannot be changed, or reading a saved result would save it again.
 */
export function resultThreshold(
  tool: { readonly name: string } & Pick<ToolMarks, "maxResultChars">,
  budget: ResultBudget,
): number {
  if (tool.maxResultChars === "unlimited") return Number.POSITIVE_INFINITY
  const override = Object.hasOwn(budget.overrides, tool.name) ? budget.overrides[tool.name] : undefined
  return override ?? tool.maxResultChars ?? budget.defaultChars
}

export function exceedsThreshold(text: string, threshold: number): boolean {
  return text.length > threshold && codePointLength(text) > threshold
}

/** The beginning of a long text, cut after a complete line where that keeps at least half of it. */
export function previewOf(text: string, previewChars: number): string {
  const head = takeCodePoints(text, previewChars)
  if (head === text) return text
  const lines = head.slice(0, head.lastIndexOf("\n") + 1)
  return codePointLength(lines) - 1 > previewChars / 2 ? lines : head
}

const OPEN = "<persisted-output>"
const CLOSE = "</persisted-output>"

/** What the model sees instead of a result that was saved to a file. */
export function persistedOutput(text: string, saved: { readonly path: string; readonly previewChars: number }): string {
  return [
    OPEN,
    `The output is too long to show: ${sizeOf(text)}.`,
    `All of it is in ${saved.path}`,
    "Read the parts you need with read_file, using offset and limit.",
    "",
    "It begins:",
    previewOf(text, saved.previewChars),
    "...",
    CLOSE,
  ].join("\n")
}

/** The replacement when the file could not be written. */
export function truncatedOutput(text: string, previewChars: number): string {
  return `${previewOf(text, previewChars)}\n[Truncated: the output has ${sizeOf(text)} and could not be saved, so only its beginning is shown. Ask for less at a time.]`
}

/**
 * Whether a result is already such a replacement, even inside the wrapping of untrusted text: saving it again would overwrite the
 * full text in the file. A longer text is not ours and only looks like one.
 */
export function isPersistedOutput(text: string, previewChars: number): boolean {
  if (codePointLength(text) > previewChars + MAX_FRAME_CHARS) return false
  return text.includes(`${OPEN}\n`) && text.includes(`\n${CLOSE}`)
}

/** The fixed text of a replacement and the longest possible path. */
const MAX_FRAME_CHARS = 5000

/** Size of a replacement without its preview: the fixed text and a long path. */
const PERSISTED_FRAME_CHARS = 500

/**
 * Chooses the results of one reply to save to files, largest first, so that the rest fits the turn's budget. Returns their
 * indexes. Never chooses a result that is already saved or that is not longer than its replacement.
 */
export function planTurnBudget(
  results: readonly string[],
  budget: Pick<ResultBudget, "turnChars" | "previewChars">,
): readonly number[] {
  const blockChars = budget.previewChars + PERSISTED_FRAME_CHARS
  const sizes = results.map((text, index) => ({
    index,
    chars: codePointLength(text),
    isSaved: isPersistedOutput(text, budget.previewChars),
  }))
  let total = sizes.reduce((sum, { chars }) => sum + chars, 0)
  const chosen: number[] = []
  const candidates = sizes.filter(({ chars, isSaved }) => !isSaved && chars > blockChars)
  for (const { index, chars } of candidates.toSorted((a, b) => b.chars - a.chars || a.index - b.index)) {
    if (total <= budget.turnChars) break
    chosen.push(index)
    total -= chars - blockChars
  }
  return chosen
}

function sizeOf(text: string): string {
  const bytes = Buffer.byteLength(text)
  const size = bytes >= 1_000_000 ? `${(bytes / 1_000_000).toFixed(1)} MB` : `${(bytes / 1000).toFixed(1)} KB`
  return `${codePointLength(text)} characters (${size})`
}
