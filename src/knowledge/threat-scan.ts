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

/**
 * Characters that show nothing and can carry text that only a model reads: zero-width and direction marks, fillers, tag characters, and
 * variation selectors.
 */
const INVISIBLE =
  /[\u{34F}\u{61C}\u{115F}\u{1160}\u{17B4}\u{17B5}\u{180B}-\u{180F}\u{200B}-\u{200F}\u{202A}-\u{202E}\u{2060}-\u{206F}\u{3164}\u{FEFF}\u{FFA0}\u{FFF9}-\u{FFFB}\u{1D173}-\u{1D17A}\u{E0000}-\u{E0FFF}]|[\u{FE00}-\u{FE0F}]/gu
/** A zero-width joiner between two emoji is legitimate: it combines them, as in a family or a flag. */
const EMOJI_JOINER =
  /(?<=\p{Extended_Pictographic}[\p{Emoji_Modifier}\u{FE0F}]?)\u{200D}(?=\p{Extended_Pictographic})/gu
/** One selector after a character that has variants: an emoji, a digit of a keycap, a symbol or a Han character. */
const VARIANT =
  /(?<=[\p{Emoji}\p{Extended_Pictographic}\p{S}\p{Script=Han}])[\u{FE00}-\u{FE0F}\u{E0100}-\u{E01EF}](?![\u{FE00}-\u{FE0F}\u{E0100}-\u{E01EF}])/gu
/** The flags of England, Scotland and Wales are written with tag characters. */
const TAGGED_FLAG =
  /(?<=\u{1F3F4})\u{E0067}\u{E0062}(?:\u{E0065}\u{E006E}\u{E0067}|\u{E0073}\u{E0063}\u{E0074}|\u{E0077}\u{E006C}\u{E0073})\u{E007F}/gu

function invisibleCharacters(text: string): readonly string[] {
  if (text.search(INVISIBLE) === -1) return []
  const characters = new Set(withoutLegitimate(text).match(INVISIBLE))
  return [...characters].sort().map((character) => {
    const code = character.codePointAt(0) ?? 0
    return `invisible_unicode_U+${code.toString(16).toUpperCase().padStart(4, "0")}`
  })
}

/** The number of the first line with an invisible character, for a user who cannot see it. */
export function invisibleLine(text: string): number | undefined {
  if (text.search(INVISIBLE) === -1) return undefined
  const shown = withoutLegitimate(text)
  const at = shown.search(INVISIBLE)
  return at === -1 ? undefined : shown.slice(0, at).split("\n").length
}

function withoutLegitimate(text: string): string {
  return text.replaceAll(EMOJI_JOINER, "").replaceAll(VARIANT, "").replaceAll(TAGGED_FLAG, "")
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
