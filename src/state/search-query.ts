import { codePointLength } from "../base/text.ts"

const WORD = String.raw`[\p{L}\p{N}\p{M}]`
const JOINED_WORDS = new RegExp(`${WORD}+(?:[._-]+${WORD}+)+`, "gu")
const PREFIX_WORD = new RegExp(`^(?:${WORD}|_)+\\*$`, "u")
const HAS_WORD = /[\p{L}\p{N}]/u
const PHRASE = /"[^"]*"/g

/** The trigram index cannot match anything shorter. */
const TRIGRAM_LENGTH = 3

/** Turns the user's words into a valid FTS5 query; empty when nothing searchable is left. */
export function sanitizeQuery(query: string): string {
  const phrases: string[] = []
  // Each phrase is replaced by its number between two NULs, which the following steps do not touch.
  const withoutPhrases = query.replaceAll("\u0000", " ").replace(PHRASE, (phrase) => {
    phrases.push(phrase)
    return `\u0000${phrases.length - 1}\u0000`
  })
  const plain = withoutPhrases
    .replace(/[+{}():"^]/g, " ")
    .replace(/\*+/g, "*")
    .replace(/(^|\s)\*/g, "$1")
    .trim()
    .replace(/^(?:AND|OR|NOT)(?=\s|$)/i, "")
    .replace(/(?:^|(?<=\s))(?:AND|OR|NOT)$/i, "")
    .replace(JOINED_WORDS, (words) => `"${words}"`)
  // oxlint-disable-next-line no-control-regex -- the NULs were put there above
  return plain.replace(/\u0000(\d+)\u0000/g, (_all, index: string) => phrases[Number(index)] ?? "").trim()
}

/** Fallback for a query that FTS5 rejects: quotes every token. Empty when no token is left. */
export function fallbackQuery(query: string): string {
  return tokensOf(query.replaceAll("\u0000", " "))
    .filter((token) => !isOperator(token) && HAS_WORD.test(token))
    .map((token) => (PREFIX_WORD.test(token) ? token : quoted(token.replaceAll('"', ""))))
    .join(" ")
}

/** The index, or LIKE, that answers a sanitized query. */
export type SearchRoute =
  | { readonly kind: "words"; readonly match: string }
  | { readonly kind: "trigrams"; readonly match: string; readonly tokens: LikeTokens }
  | { readonly kind: "like"; readonly tokens: LikeTokens }

export interface LikeTokens {
  /** A row must contain at least one of these. */
  readonly included: readonly string[]
  /** A row must contain none of these. */
  readonly excluded: readonly string[]
}

/** Routes Chinese, Japanese and Korean to the trigram index: without spaces, the word index finds no word in a sentence. */
export function routeQuery(sanitized: string): SearchRoute {
  if (countCjk(sanitized) === 0) return { kind: "words", match: sanitized }
  const tokens = tokensOf(withoutOuterQuotes(sanitized)).map(withoutOuterQuotes)
  const words = tokens.filter((token) => !isOperator(token))
  const likeTokens = splitByNot(tokens)
  const longEnough = words.every((word) => {
    const cjk = countCjk(word)
    return cjk >= TRIGRAM_LENGTH || (cjk === 0 && codePointLength(word) >= TRIGRAM_LENGTH)
  })
  if (!longEnough) return { kind: "like", tokens: likeTokens }
  const match = tokens.map((token) => (isOperator(token) ? token : quoted(token.replaceAll('"', '""')))).join(" ")
  return { kind: "trigrams", match, tokens: likeTokens }
}

const PHRASE_OR_PREFIX = new RegExp(`"[^"]*${WORD}[^"]*"|${WORD}\\*(?=\\s|$)`, "u")
const BINARY_OPERATOR = /\S\s+(?:AND|OR|NOT)\s+\S/

/**
 * True when a query must be matched exactly as it is written: it contains a phrase, `AND`, `OR`, `NOT` or a `prefix*`. Chinese,
 * Japanese and Korean are matched by substring, because they are written without spaces.
 */
export function isExactQuery(query: string): boolean {
  return PHRASE_OR_PREFIX.test(query) || BINARY_OPERATOR.test(query) || countCjk(query) > 0
}

/** Quoted phrases and runs without whitespace, in order. */
function tokensOf(query: string): readonly string[] {
  return query.match(/"[^"]*"(?=\s|$)|\S+/g) ?? []
}

function splitByNot(tokens: readonly string[]): LikeTokens {
  const included: string[] = []
  const excluded: string[] = []
  for (const [index, token] of tokens.entries()) {
    if (isOperator(token)) continue
    const list = tokens[index - 1] === "NOT" ? excluded : included
    const bare = token.replaceAll(/["*]/g, "")
    if (bare !== "" && !list.includes(bare)) list.push(bare)
  }
  return { included, excluded }
}

/** FTS5 recognizes operators only in upper case. */
function isOperator(token: string): boolean {
  return token === "AND" || token === "OR" || token === "NOT"
}

function withoutOuterQuotes(text: string): string {
  return /^"[^"]*"$/.test(text) ? text.slice(1, -1).trim() : text
}

function quoted(text: string): string {
  return `"${text}"`
}

function countCjk(text: string): number {
  let count = 0
  for (const character of text) if (isCjk(character.codePointAt(0) ?? 0)) count += 1
  return count
}

const CJK_RANGES: readonly (readonly [number, number])[] = [
  [0x3000, 0x303f],
  [0x3040, 0x309f],
  [0x30a0, 0x30ff],
  [0x3400, 0x4dbf],
  [0x4e00, 0x9fff],
  [0xac00, 0xd7af],
  [0x20000, 0x2a6df],
]

function isCjk(codePoint: number): boolean {
  return CJK_RANGES.some(([first, last]) => codePoint >= first && codePoint <= last)
}
