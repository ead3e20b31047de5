import { takeCodePoints } from "../../../../base/text.ts"
import { mostSimilarLines } from "./similar-blocks.ts"

const MAX_CANDIDATES = 3
const LINES_AROUND = 2
const MIN_SIMILARITY = 0.3
const MAX_LINE_CHARS = 200

/** Passages similar to a text that is not in the file, or "" when there are none. */
export function describeCandidates(content: string, old: string): string {
  const searched = old
    .split("\n")
    .map((line) => line.trim())
    .find((line) => line !== "")
  if (searched === undefined || searched.length > MAX_SEARCH_CHARS) return ""
  // Only the beginning of a large file is compared anyway.
  const lines = content.slice(0, MAX_COMPARED_CHARS).replaceAll("\r\n", "\n").split("\n")
  const best = mostSimilarLines(lines, searched, { above: MIN_SIMILARITY, max: MAX_CANDIDATES })
  const snippets = best.map((index) => snippet(lines, index))
  return snippets.length === 0 ? "" : `Did you mean one of these passages?\n${snippets.join("\n---\n")}`
}

const MAX_SEARCH_CHARS = 2000
const MAX_COMPARED_CHARS = 4_000_000

function snippet(lines: readonly string[], center: number): string {
  const first = Math.max(0, center - LINES_AROUND)
  return lines
    .slice(first, center + LINES_AROUND + 1)
    .map((line, index) => `${String(first + index + 1).padStart(4)}| ${takeCodePoints(line, MAX_LINE_CHARS)}`)
    .join("\n")
}
