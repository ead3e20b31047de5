import { fingerprint } from "../../base/random-and-hash.ts"
import { takeCodePoints } from "../../base/text.ts"

/**
 * Normalizes an error message: lower case, without numbers, paths, addresses, hexadecimal values and quotes. Reports of the same error
 * from different lines, files and machines become equal.
 */
export function normaliseError(text: string): string {
  return takeCodePoints(text, MAX_NORMALISED_CHARS)
    .toLowerCase()
    .split(BREAKS)
    .map((token) => token.replaceAll(POSITION, "").replaceAll(EDGES, ""))
    .filter((token) => token !== "" && !isMachineSpecific(token))
    .join(" ")
}

/** Two learnings with the same fingerprint are the same learning. */
export function errorFingerprint(pattern: string, errorType: string): string {
  const form = normaliseError(pattern)
  // Nothing is left of a bare number or path; keep the original, or all of them would be equal.
  return fingerprint(`${form === "" ? pattern.trim() : form}\0${errorType.toLowerCase()}`)
}

/**
 * Returns the distinct words of a text, for comparison. Splits names such as `no_such-module` into words, so that other spellings
 * match, and scripts without spaces into pairs of characters.
 */
export function errorWords(text: string): ReadonlySet<string> {
  const words = new Set<string>()
  for (const [run] of normaliseError(text).matchAll(/[\p{L}\p{N}]+/gu)) {
    if (UNSPACED.test(run)) for (const pair of pairsOf(run)) words.add(pair)
    else if (!STOP_WORDS.has(run)) words.add(run)
  }
  return words
}

/** Jaccard index of two sets, 0 to 1. */
export function jaccard(a: ReadonlySet<string>, b: ReadonlySet<string>): number {
  const union = a.size + b.size
  if (union === 0) return 0
  let shared = 0
  for (const word of a) if (b.has(word)) shared += 1
  return shared / (union - shared)
}

const MAX_NORMALISED_CHARS = 4000
const BREAKS = /[\s"'`‘’“”«»()[\]{}<>,;|=]+/u
/** `:12` and `:12:5` after a name. */
const POSITION = /(?::\d+)+/gu
const EDGES = /^[.:!?*#&-]+|[.:!?*#&-]+$/gu
const NUMBER = /^v?\d[\d.:_x/+-]*[a-z%]{0,3}$/u
const TIMESTAMP = /^\d{4}-\d\d-\d\d/u
const HEXADECIMAL = /^(?:0x[0-9a-f]+|(?=[a-f]*\d)[0-9a-f]{6,}|[0-9a-f]{8}-[0-9a-f-]{27})$/u
const UNSPACED = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]/u

/** Names with letters and digits (`ts2345`, `utf8`) are not machine-specific: they distinguish errors. */
function isMachineSpecific(token: string): boolean {
  return /[/\\]/u.test(token) || NUMBER.test(token) || TIMESTAMP.test(token) || HEXADECIMAL.test(token)
}

function pairsOf(run: string): readonly string[] {
  const characters = Array.from(run)
  if (characters.length === 1) return characters
  return characters.slice(1).map((character, index) => `${characters[index] ?? ""}${character}`)
}

const STOP_WORDS: ReadonlySet<string> = new Set(
  "a an the of to in on at for and or is are was were be been it its this that with by from as into when if".split(" "),
)
