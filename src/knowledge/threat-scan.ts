import { THREAT_PATTERNS } from "./threat-patterns.ts"
import type { ThreatPattern, ThreatScope } from "./threat-patterns.ts"

/**
 * The ids of the threat patterns in a text, invisible characters first, then in the order of the table. Time grows linearly with
 * the text, also for text that was made to be slow.
 */
export function scanThreats(text: string, scope: ThreatScope): readonly string[] {
  const patterns = SCOPES.slice(0, SCOPES.indexOf(scope) + 1).flatMap((name) => THREAT_PATTERNS[name])
  const spoken = spokenPatterns(text, patterns)
  const found = patterns.filter((pattern) => {
    if ("words" in pattern) return spoken.has(pattern)
    return "line" in pattern ? hasOnOneLine(text, pattern.line) : pattern.test(text)
  })
  return [...invisibleCharacters(text), ...found.map(({ id }) => id)]
}

/** A byte-order mark opens many files for no reason of their author; anywhere else the same character hides something. */
export function withoutByteOrderMark(text: string): string {
  return text.startsWith("\u{FEFF}") ? text.slice(1) : text
}

const SCOPES: readonly ThreatScope[] = ["all", "context", "strict"]

const INVISIBLE = /[\u{200B}-\u{200D}\u{2060}\u{2062}-\u{2064}\u{FEFF}\u{202A}-\u{202E}\u{2066}-\u{2069}]/gu
/** A zero-width joiner between two emoji makes them one, as in a family or a flag. */
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

/** The patterns of phrases that the text holds. Few texts hold the words of any, so most are never split into words. */
function spokenPatterns(text: string, patterns: readonly ThreatPattern[]): ReadonlySet<ThreatPattern> {
  const lower = text.toLowerCase().replaceAll("’", "'")
  const searches = patterns.flatMap((pattern): readonly Search[] => {
    if (!("words" in pattern)) return []
    const possible = pattern.words.every((phrases) => phrases.some((phrase) => lower.includes(rarestWord(phrase))))
    return possible ? [{ pattern, steps: pattern.words, step: 0, from: 0 }] : []
  })
  if (searches.length > 0) followPhrases(splitWords(lower), searches)
  return new Set(searches.filter(({ step, steps }) => step === steps.length).map(({ pattern }) => pattern))
}

/** The longest word of a phrase stands for it in a first look. */
function rarestWord(phrase: string): string {
  return phrase.split(" ").reduce((longest, word) => (word.length > longest.length ? word : longest), "")
}

/** How far a pattern has been followed, and from which word on its next phrase may begin. */
interface Search {
  readonly pattern: ThreatPattern
  readonly steps: readonly (readonly string[])[]
  step: number
  from: number
}

/** Since anything may stand between two phrases, the earliest end of each is always the right one: no going back. */
function followPhrases({ words, breaks }: Words, searches: readonly Search[]): void {
  const index = phrasesByLastWord(searches)
  let sentence = 0
  for (const [place, word] of words.entries()) {
    if (breaks[place]) sentence = place
    for (const { search, step, phrase } of index.get(word) ?? []) {
      if (search.from < sentence && search.step < search.steps.length) {
        search.step = 0
        search.from = sentence
      }
      if (search.step !== step || !endsAt(words, place, { phrase, from: search.from })) continue
      search.step += 1
      search.from = place + 1
    }
  }
}

interface AwaitedPhrase {
  readonly search: Search
  readonly step: number
  readonly phrase: readonly string[]
}

function phrasesByLastWord(searches: readonly Search[]): ReadonlyMap<string, readonly AwaitedPhrase[]> {
  const awaited = searches.flatMap((search) =>
    search.steps.flatMap((phrases, step) => phrases.map((phrase) => ({ search, step, phrase: phrase.split(" ") }))),
  )
  return Map.groupBy(awaited, ({ phrase }) => phrase.at(-1) ?? "")
}

function endsAt(
  words: readonly string[],
  place: number,
  { phrase, from }: { readonly phrase: readonly string[]; readonly from: number },
): boolean {
  const start = place - phrase.length + 1
  return start >= from && phrase.every((word, index) => word === "*" || word === words[start + index])
}

interface Words {
  readonly words: readonly string[]
  /** Whether punctuation stands between this word and the one before it. */
  readonly breaks: readonly boolean[]
}

/** Of any script: whatever is neither ASCII nor one of the blocks of punctuation counts as a letter. */
const WORD =
  /[0-9a-z\u00AA-\u1FFF\u2C00-\u2DFF\u3040-\uFFFE](?:[0-9a-z_'\-\u00AA-\u1FFF\u2C00-\u2DFF\u3040-\uFFFE]*[0-9a-z\u00AA-\u1FFF\u2C00-\u2DFF\u3040-\uFFFE])?/g
/** Emphasis and quotation marks around a word do not end a sentence; a bullet does. */
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

/** The first hit of the first expression on a line is the best start; where it fails, the line fails. */
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
  let left = line
  for (const expression of expressions) {
    const hit = expression.exec(left)
    if (hit === null) return false
    left = left.slice(hit.index + hit[0].length)
  }
  return true
}
