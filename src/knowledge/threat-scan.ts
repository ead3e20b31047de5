import { THREAT_PATTERNS } from "./threat-patterns.ts"
import type { ThreatPattern, ThreatScope } from "./threat-patterns.ts"

/**
 * Returns the ids of the threat patterns in a text: invisible characters first, then in the order of the table. Runs in linear time,
 * even for hostile text.
 */
export function scanThreats(text: string, scope: ThreatScope): readonly string[] {
  const patterns = SCOPES.slice(0, SCOPES.indexOf(scope) + 1).flatMap((name) => THREAT_PATTERNS[name])
  const phraseMatches = matchPhrases(text, patterns)
  const found = patterns.filter((pattern) => {
    if ("words" in pattern) return phraseMatches.has(pattern)
    return "line" in pattern ? hasOnOneLine(text, pattern.line) : pattern.test(text)
  })
  return [...invisibleCharacters(text), ...found.map(({ id }) => id)]
}

/** Many editors write a byte order mark. Anywhere but at the start, the same character hides text. */
export function withoutByteOrderMark(text: string): string {
  return text.startsWith("\u{FEFF}") ? text.slice(1) : text
}

const SCOPES: readonly ThreatScope[] = ["all", "context", "strict"]

const INVISIBLE = /[\u{200B}-\u{200D}\u{2060}\u{2062}-\u{2064}\u{FEFF}\u{202A}-\u{202E}\u{2066}-\u{2069}]/gu
/** A zero-width joiner between two emoji is legitimate: it combines them, as in a family or a flag. */
const EMOJI_JOINER =
  /(?<=\p{Extended_Pictographic}[\p{Emoji_Modifier}\u{FE0F}]?)\u{200D}(?=\p{Extended_Pictographic})/gu

function invisibleCharacters(text: string): readonly string[] {
  if (text.search(INVISIBLE) === -1) return []
  const characters = new Set(text.replaceAll(EMOJI_JOINER, "").match(INVISIBLE))
  return [...characters].sort().map((character) => {
    const code = character.codePointAt(0) ?? 0
    return `invisible_unicode_U+${code.toString(16).toUpperCase().padStart(4, "0")}`
  })
}

/** Returns the `words` patterns that match. Most texts contain the words of none, so they are never split into words. */
function matchPhrases(text: string, patterns: readonly ThreatPattern[]): ReadonlySet<ThreatPattern> {
  const lower = text.toLowerCase().replaceAll("’", "'")
  const searches = patterns.flatMap((pattern): readonly Search[] => {
    if (!("words" in pattern)) return []
    const possible = pattern.words.every((phrases) => phrases.some((phrase) => lower.includes(longestWord(phrase))))
    return possible ? [{ pattern, steps: pattern.words, step: 0, from: 0 }] : []
  })
  if (searches.length > 0) followPhrases(splitWords(lower), searches)
  return new Set(searches.filter(({ step, steps }) => step === steps.length).map(({ pattern }) => pattern))
}

/** The longest word of a phrase, for a quick pre-check. */
function longestWord(phrase: string): string {
  return phrase.split(" ").reduce((longest, word) => (word.length > longest.length ? word : longest), "")
}

/** The progress of matching one pattern. */
interface Search {
  readonly pattern: ThreatPattern
  readonly steps: readonly (readonly string[])[]
  /** Index of the next phrase to find. */
  step: number
  /** Index of the first word where that phrase may start. */
  from: number
}

/** Anything may stand between two phrases, so the earliest match of each is always right and no backtracking is needed. */
function followPhrases({ words, breaks }: Words, searches: readonly Search[]): void {
  const index = phrasesByLastWord(searches)
  let sentence = 0
  for (const [position, word] of words.entries()) {
    if (breaks[position]) sentence = position
    for (const { search, step, phrase } of index.get(word) ?? []) {
      if (search.from < sentence && search.step < search.steps.length) {
        search.step = 0
        search.from = sentence
      }
      if (search.step !== step || !endsAt(words, position, { phrase, from: search.from })) continue
      search.step += 1
      search.from = position + 1
    }
  }
}

interface ExpectedPhrase {
  readonly search: Search
  readonly step: number
  readonly phrase: readonly string[]
}

function phrasesByLastWord(searches: readonly Search[]): ReadonlyMap<string, readonly ExpectedPhrase[]> {
  const expected = searches.flatMap((search) =>
    search.steps.flatMap((phrases, step) => phrases.map((phrase) => ({ search, step, phrase: phrase.split(" ") }))),
  )
  return Map.groupBy(expected, ({ phrase }) => phrase.at(-1) ?? "")
}

function endsAt(
  words: readonly string[],
  position: number,
  { phrase, from }: { readonly phrase: readonly string[]; readonly from: number },
): boolean {
  const start = position - phrase.length + 1
  return start >= from && phrase.every((word, index) => word === "*" || word === words[start + index])
}

interface Words {
  readonly words: readonly string[]
  /** For each word, whether punctuation separates it from the previous one. */
  readonly breaks: readonly boolean[]
}

/** A word in any script: every character outside ASCII and the punctuation blocks counts as a letter. */
const WORD =
  /[0-9a-z\u00AA-\u1FFF\u2C00-\u2DFF\u3040-\uFFFE](?:[0-9a-z_'\-\u00AA-\u1FFF\u2C00-\u2DFF\u3040-\uFFFE]*[0-9a-z\u00AA-\u1FFF\u2C00-\u2DFF\u3040-\uFFFE])?/g
/** Emphasis and quotation marks around a word do not end a sentence, but a bullet does. */
const SOFT_GAP = /^[*_`"'“”‘]{0,6}\s+[*_`"'“”‘]{0,6}$/u

function splitWords(text: string): Words {
  const words: string[] = []
  const breaks: boolean[] = []
  let end = 0
  for (const { 0: word, index } of text.matchAll(WORD)) {
    words.push(word)
    breaks.push(text.slice(end, index) !== " " && !SOFT_GAP.test(text.slice(end, index)))
    end = index + word.length
  }
  return { words, breaks }
}

/** The first match of the first expression on a line is the best start; when it fails, the line does not match. */
function hasOnOneLine(text: string, [first, ...rest]: readonly RegExp[]): boolean {
  if (first === undefined) return false
  const opening = new RegExp(first.source, "giu")
  for (let hit = opening.exec(text); hit !== null; hit = opening.exec(text)) {
    const lineEnd = text.indexOf("\n", opening.lastIndex)
    const end = lineEnd === -1 ? text.length : lineEnd
    if (followsInOrder(text.slice(opening.lastIndex, end), rest)) return true
    opening.lastIndex = Math.max(end, opening.lastIndex)
  }
  return false
}

function followsInOrder(line: string, expressions: readonly RegExp[]): boolean {
  let remaining = line
  for (const expression of expressions) {
    const hit = expression.exec(remaining)
    if (hit === null) return false
    remaining = remaining.slice(hit.index + hit[0].length)
  }
  return true
}
