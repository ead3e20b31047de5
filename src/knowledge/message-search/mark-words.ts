import { plainWord, stemOf } from "../semantic-search/terms.ts"
import { parseWordQuery } from "./query-words.ts"

const MAX_CHARS = 300
const CHARS_BEFORE = 60

const WORD_RUN = /[\p{L}\p{N}\p{M}]+/gu

/** The part of a text with the most words of the query, each marked as `>>>word<<<`. */
export function markWords(text: string, query: string): string {
  const stems = new Set(parseWordQuery(query).words.map(({ stem }) => stem))
  const matches = [...text.matchAll(WORD_RUN)].flatMap(({ 0: run, index }) => {
    const stem = stemOf(plainWord(run))
    return stems.has(stem) ? [{ stem, start: index, end: index + run.length }] : []
  })
  const start = text.length <= MAX_CHARS ? 0 : bestStart(matches)
  const end = Math.min(text.length, start + MAX_CHARS)
  let marked = start > 0 ? "..." : ""
  let copied = start
  for (const match of matches) {
    if (match.start < start || match.end > end) continue
    marked += `${text.slice(copied, match.start)}>>>${text.slice(match.start, match.end)}<<<`
    copied = match.end
  }
  return `${marked}${text.slice(copied, end)}${end < text.length ? "..." : ""}`.toWellFormed()
}

interface WordMatch {
  readonly stem: string
  readonly start: number
  readonly end: number
}

function bestStart(matches: readonly WordMatch[]): number {
  let best = { start: 0, words: 0 }
  for (const { start } of matches) {
    const from = Math.max(0, start - CHARS_BEFORE)
    const inside = matches.filter((match) => match.start >= from && match.end <= from + MAX_CHARS)
    const words = new Set(inside.map(({ stem }) => stem)).size
    if (words > best.words) best = { start: from, words }
  }
  return best.start
}
