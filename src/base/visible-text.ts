import { characterName, looksLike, LOOK_ALIKE_SCRIPTS } from "./character-names.ts"

export interface VisibleText {
  /** The text with every character that cannot be seen, or is not what it seems, written as `\u{…}`. Newlines and tabs stay. */
  readonly text: string
  /** What was written that way, one line for each character: `\u{202E}: right-to-left override`. */
  readonly notes: readonly string[]
}

/**
 * Text that a user has to judge: nothing in it acts on a terminal, nothing is invisible, and letters of other scripts do not pass for
 * Latin ones. Nothing is left out. Words of other scripts and emoji stay as they are.
 */
export function visibleText(text: string): VisibleText {
  if (PLAIN.test(text)) return { text, notes: [] }
  const counts = new Map<string, number>()
  const escape = (char: string): string => {
    counts.set(char, (counts.get(char) ?? 0) + 1)
    return codePoint(char)
  }
  const shown = text
    .split(EMOJI)
    // The expression has one group, so every second part is an emoji.
    .map((part, index) => (index % 2 === 1 ? part : withoutLookAlikes(part, escape).replaceAll(HIDDEN, escape)))
    .join("")
  const order = RIGHT_TO_LEFT.test(text) ? ["text from right to left may be shown in another order"] : []
  return { text: shown, notes: [...notesOf(counts), ...order] }
}

/** A file name on one line: two names that differ look different, also when they differ in blanks only. */
export function visibleName(name: string): string {
  return visibleText(name).text.replaceAll(/[\n\t]|^ | $|(?<= ) /gu, codePoint)
}

const PLAIN = /^[\n\t -~]*$/u

/** Terminals reorder what stands between such letters. */
const RIGHT_TO_LEFT = /[\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}]/u

/** A sequence that is not in the list of Unicode could carry hidden characters. */
const EMOJI = /(\p{RGI_Emoji})/v

/**
 * Control, format, private and unassigned characters, lone surrogates, line and paragraph separators, spaces that look like an ordinary
 * one, letters without a shape, variation selectors, and combining marks that have no letter, pile up or strike a letter through.
 */
const HIDDEN = new RegExp(
  [
    String.raw`(?![\n\t ])[\p{Cc}\p{Cf}\p{Co}\p{Cn}\p{Cs}\p{Zl}\p{Zp}\p{Zs}\u{115F}\u{1160}\u{2800}\u{3164}\u{FFA0}\p{Variation_Selector}]`,
    String.raw`[\u{334}-\u{338}\u{20D0}-\u{20FF}]`,
    String.raw`(?<![\p{L}\p{N}\p{M}])\p{M}`,
    String.raw`(?<=\p{M}{4})\p{M}`,
  ].join("|"),
  "gu",
)

function withoutLookAlikes(text: string, escape: (char: string) => string): string {
  return text
    .replaceAll(WORD, (word, index: number) => {
      const isMixed = LATIN.test(word)
      const isDisguised = !isMixed && hasOnlyLookAlikes(word) && !isAmongItsScript(text, word, index)
      return word.replaceAll(LETTER, (char) => {
        const isForeign = LOOK_ALIKE_SCRIPTS.test(char) && (isMixed || isDisguised)
        return isForeign || isVariant(char) ? escape(char) : char
      })
    })
    .replaceAll(PUNCTUATION, (char, index: number, whole: string) =>
      EAST_ASIAN.test(whole.slice(Math.max(0, index - 1), index + 2)) ? char : escape(char),
    )
}

const WORD = /[\p{L}\p{M}\p{N}\p{Cf}\p{So}_]+/gu
const LETTER = /[\p{L}\p{N}\p{So}]/gu
const LATIN = /[A-Za-z]/u
const EAST_ASIAN = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]/u

/** A word in which every letter looks like a Latin one: `ср` for `cp`. */
function hasOnlyLookAlikes(word: string): boolean {
  const letters = word.match(/\p{L}/gu) ?? []
  return letters.length > 0 && letters.every((letter) => looksLike(letter) !== undefined)
}

/** The word beside it has letters that no Latin word has, as in a Russian sentence. */
function isAmongItsScript(text: string, word: string, index: number): boolean {
  const before = /(\S+)[ \t]$/u.exec(text.slice(Math.max(0, index - MAX_WORD), index))?.[1] ?? ""
  const after = /^[ \t](\S+)/u.exec(text.slice(index + word.length, index + word.length + MAX_WORD))?.[1] ?? ""
  return [before, after].some((other) =>
    Array.from(other).some((char) => LOOK_ALIKE_SCRIPTS.test(char) && looksLike(char) === undefined),
  )
}

const MAX_WORD = 60

/** A styled form of an ASCII letter or digit, such as a full-width or mathematical one. Superscripts are seen as what they are. */
function isVariant(char: string): boolean {
  return (
    char > "~" &&
    !/[ªº²³¹\u{2070}-\u{209C}]/u.test(char) &&
    looksLike(char) !== undefined &&
    !LOOK_ALIKE_SCRIPTS.test(char)
  )
}

/** Looks like punctuation that means something to a shell or in a path. */
const PUNCTUATION =
  /[\u{1C0}\u{2D7}\u{37E}\u{1FEF}\u{2010}\u{2011}\u{201A}\u{2024}\u{2039}\u{203A}\u{2044}\u{2212}\u{2215}\u{2216}\u{2223}\u{2236}\u{2571}\u{2572}\u{29F5}\u{29F8}\u{A789}\u{FE50}-\u{FE6B}\u{FF01}-\u{FF0F}\u{FF1A}-\u{FF20}\u{FF3B}-\u{FF40}\u{FF5B}-\u{FF5E}]/gu

function codePoint(char: string): string {
  return `\\u{${(char.codePointAt(0) ?? 0).toString(16).toUpperCase()}}`
}

const MAX_NOTES = 12

function notesOf(counts: ReadonlyMap<string, number>): readonly string[] {
  const notes = Array.from(counts, ([char, count]) => {
    const times = count === 1 ? "" : `, ${count} times`
    return `${codePoint(char)}: ${characterName(char)}${times}`
  })
  const rest = notes.length - MAX_NOTES
  return rest > 0 ? [...notes.slice(0, MAX_NOTES), `and ${rest} other unusual characters`] : notes
}
