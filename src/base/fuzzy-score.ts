import { codePointLength } from "./text.ts"

/**
 * How well a typed text matches a name or a path; undefined when it does not. The whole last name counts most, then its start, a part
 * of it, a part of the path, and last the characters in this order with others between them.
 */
export function fuzzyScore(query: string, candidate: string): number | undefined {
  if (query === "") return 0
  const wanted = query.toLowerCase()
  const path = candidate.toLowerCase()
  const name = path.slice(path.lastIndexOf("/", path.length - 2) + 1)
  if (name === wanted) return 100
  if (name.startsWith(wanted)) return 80
  if (name.includes(wanted)) return 60
  if (path.includes(wanted)) return 40
  return subsequenceScore(wanted, candidate)
}

/** The candidates that match, best first; of equal ones the shorter, then in the given order. */
export function fuzzyFilter<T>(query: string, candidates: Iterable<T>, nameOf: (candidate: T) => string): readonly T[] {
  const scored: { readonly candidate: T; readonly score: number; readonly length: number }[] = []
  for (const candidate of candidates) {
    const name = nameOf(candidate)
    const score = fuzzyScore(query, name)
    if (score !== undefined) scored.push({ candidate, score, length: query === "" ? 0 : name.length })
  }
  return scored.toSorted((one, other) => other.score - one.score || one.length - other.length).map((it) => it.candidate)
}

function subsequenceScore(wanted: string, candidate: string): number | undefined {
  let from = 0
  let atWordStart = 0
  const path = candidate.toLowerCase()
  for (const character of wanted) {
    const index = path.indexOf(character, from)
    if (index === -1) return undefined
    if (isWordStart(candidate, index)) atWordStart += 1
    from = index + character.length
  }
  return atWordStart * 2 >= codePointLength(wanted) ? 35 : 25
}

function isWordStart(text: string, index: number): boolean {
  const before = text[index - 1] ?? ""
  if (before === "" || /[^\p{L}\p{N}]/u.test(before)) return true
  return /\p{Ll}/u.test(before) && /\p{Lu}/u.test(text[index] ?? "")
}
