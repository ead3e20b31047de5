import { nextGrapheme, previousGrapheme } from "../../../terminal/text-width.ts"

/** Words as Vim counts them: letters and digits, or other characters that are not blank. A `W` is anything between blanks. */
type CharacterClass = "blank" | "word" | "other"

export function classAt(text: string, index: number, big: boolean): CharacterClass {
  const character = text.slice(index, nextGrapheme(text, index))
  if (character === "" || /^\s/u.test(character)) return "blank"
  return big || /^[\p{L}\p{N}\p{M}_]/u.test(character) ? "word" : "other"
}

/** The start of the next word; the end of the text when there is none. */
export function nextWordStart(text: string, cursor: number, big: boolean): number {
  const start = classAt(text, cursor, big)
  let index = cursor
  // Blanks are skipped below, where an empty line stops.
  if (start !== "blank")
    while (index < text.length && classAt(text, index, big) === start) index = nextGrapheme(text, index)
  while (index < text.length && classAt(text, index, big) === "blank") {
    index = nextGrapheme(text, index)
    // An empty line counts as a word.
    if (text[index] === "\n" && text[index - 1] === "\n") return index
  }
  return index
}

/** The start of the word before. */
export function previousWordStart(text: string, cursor: number, big: boolean): number {
  let index = previousGrapheme(text, cursor)
  while (index > 0 && classAt(text, index, big) === "blank") index = previousGrapheme(text, index)
  const word = classAt(text, index, big)
  for (;;) {
    const before = previousGrapheme(text, index)
    if (index === 0 || classAt(text, before, big) !== word) return index
    index = before
  }
}

/** The last character of the next word. */
export function nextWordEnd(text: string, cursor: number, big: boolean): number {
  let index = nextGrapheme(text, cursor)
  while (index < text.length && classAt(text, index, big) === "blank") index = nextGrapheme(text, index)
  const word = classAt(text, index, big)
  for (;;) {
    const next = nextGrapheme(text, index)
    if (next >= text.length || classAt(text, next, big) !== word) return Math.min(index, lastCharacter(text))
    index = next
  }
}

function lastCharacter(text: string): number {
  return text === "" ? 0 : previousGrapheme(text, text.length)
}
