import { irregularForms } from "./irregular-forms.ts"
import { porterStem } from "./porter-stem.ts"

/**
 * Returns the index terms of a text: stems in lower case without accents and stop words, in order and with repetitions. Splits
 * identifiers such as "sessionStore" and "read_file" into their words too. Chinese, Japanese and Korean are written without spaces,
 * so they yield pairs of adjacent characters.
 */
export function termsOf(text: string): readonly string[] {
  return tokenize(text).map(({ term }) => term)
}

/** Returns the terms together with the words they come from. */
export function tokenize(text: string): readonly Token[] {
  const words: Token[] = []
  for (const [run] of text.matchAll(WORD_RUN)) addRun(run, words)
  return words
}

export interface Token {
  readonly word: string
  readonly term: string
}

const WORD_RUN = /[\p{L}\p{N}\p{M}]+/gu

function addRun(run: string, words: Token[]): void {
  if (CJK.test(run)) {
    for (const part of run.split(CJK_RUN)) addPiece(part, words)
    return
  }
  addWord(run, words)
  if (CAMEL_CASE.test(run)) for (const piece of run.match(IDENTIFIER_WORD) ?? []) addWord(piece, words)
}

const CJK = /[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\u{20000}-\u{2a6df}]/u
const CJK_RUN = /([\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\u{20000}-\u{2a6df}]+)/u

const CAMEL_CASE = /\p{Ll}\p{Lu}|\p{Lu}\p{Lu}\p{Ll}/u

/** "HTTPServer2" → HTTP, Server2. */
const IDENTIFIER_WORD = /\p{Lu}+(?!\p{Ll})\p{N}*|\p{Lu}?\p{Ll}+\p{N}*|\p{N}+/gu

function addPiece(piece: string, words: Token[]): void {
  if (piece === "") return
  if (!CJK.test(piece)) {
    addWord(piece, words)
    return
  }
  const characters = Array.from(piece)
  if (characters.length === 1) words.push({ word: piece, term: piece })
  for (let index = 0; index + 1 < characters.length; index += 1) {
    const pair = `${characters[index]}${characters[index + 1]}`
    words.push({ word: pair, term: pair })
  }
}

/** Anything longer is data, such as a hash or base64. */
const MAX_WORD = 40

function addWord(word: string, words: Token[]): void {
  if (word.length > MAX_WORD) return
  const plain = plainWord(word)
  if (plain !== "" && !isStopWord(plain)) words.push({ word: plain, term: stemOf(plain) })
}

/** In lower case and without accents. */
export function plainWord(word: string): string {
  return word.normalize("NFD").replaceAll(MARKS, "").toLowerCase()
}

const MARKS = /\p{M}/gu

/** The stem of a plain word; that of its base form when it is irregular. */
export function stemOf(plain: string): string {
  return porterStem(IRREGULAR_FORMS.get(plain) ?? plain)
}

/** The irregular forms of words with this stem. */
export function irregularFormsOf(stem: string): readonly string[] {
  return FORMS_BY_STEM.get(stem)?.map(([form]) => form) ?? []
}

const IRREGULAR_FORMS = irregularForms()
const FORMS_BY_STEM = Map.groupBy(IRREGULAR_FORMS, ([, base]) => porterStem(base))

export function isStopWord(plain: string): boolean {
  return STOP_WORDS.has(plain)
}

/** Very common words, question words, and the remains of contractions such as "don't". */
const STOP_WORDS: ReadonlySet<string> = new Set(
  (
    "a an the this that these those there here it its he him his she her hers they them their theirs we us our ours you your yours " +
    "i me my mine myself yourself itself themselves who whom whose which what when where why how " +
    "is are was were be been being am do does did doing done have has had having can could will would shall should may might must " +
    "and or but nor so if then than because while as of at by for with about against between into through during before after " +
    "above below to from up in out on off over under again further once only own same too very just also not no yes " +
    "any some all both each few more most other such per via let lets s t d ll re ve m don doesn didn isn aren wasn weren won " +
    "couldn shouldn wouldn please tell know remember say said says again ever still yet already much many thing things " +
    "get got gets getting go goes going went make makes made use uses used using like really something anything " +
    "take takes took taken taking give gives gave given giving put puts come comes came coming back behind ahead away around along " +
    "now maybe perhaps even well quite rather somehow sometimes someone anyone everyone everything nothing else another every"
  ).split(" "),
)
