import type { Field } from "../interpreter.ts"
import { asPart, joinNames } from "../name-source.ts"
import type { NameSource, ShellWord } from "../understood-command.ts"

/** A longer word is not known. It is as long as the longest line, so that only repeated expansion can reach it. */
const LONGEST_WORD = 262_144
const LONGEST_UNKNOWN_WORD = 16_384

/** No splitting, and the one of a shell in which `IFS` was not changed. */
const USUAL_SEPARATORS: ReadonlySet<string> = new Set(["", " \t\n"])

/** Puts the parts of a word together and splits unquoted expansions into several words. */
export class FieldBuilder {
  readonly #fields: Field[] = []
  readonly #separators: string
  #text = ""
  #isKnown = true
  #isPattern = false
  #isPresent = false
  #splits = false
  #process: Field["process"]
  #names: NameSource | undefined
  /** The text of the only part, when it is one that the shell computes and does not split in an unusual way. */
  #only: string | undefined
  /** Parts that are too long are missing in the text. */
  #isCut = false

  constructor(separators: string) {
    this.#separators = separators
  }

  addQuoted(text: string): void {
    this.#append(text)
    this.#isPresent = true
  }

  #append(text: string): void {
    const longest = this.#isKnown ? LONGEST_WORD : LONGEST_UNKNOWN_WORD
    if (this.#text.length + text.length <= longest) this.#text += text
    else {
      this.#isKnown = false
      this.#isCut = true
    }
  }

  addLiteral(text: string): void {
    this.#append(text)
    if (text !== "") this.#isPresent = true
  }

  addPattern(text: string): void {
    this.addLiteral(text)
    this.#isPattern = true
  }

  /** A part that only the shell can compute. */
  addUnknown(text: string, isQuoted: boolean, names?: NameSource): void {
    this.#isKnown = false
    this.#addNames(names, { text, isQuoted })
    this.#append(text)
    this.#isPresent = true
    if (!isQuoted) this.#splits = true
  }

  addProcess(text: string, process: NonNullable<Field["process"]>): void {
    this.#text += text
    this.#isPresent = true
    this.#isKnown = false
    this.#process = process
  }

  addWord(word: ShellWord, isQuoted: boolean): void {
    if (!word.known) this.#isKnown = false
    if (isQuoted) this.addQuoted(word.text)
    else if (word.known) this.#addSplit(word.text)
    else {
      this.addQuoted(word.text)
      this.#splits = true
    }
    if (word.pattern) this.#isPattern = true
    this.#addNames(word.names, { text: word.text, isQuoted })
  }

  #addNames(
    names: NameSource | undefined,
    { text, isQuoted }: { readonly text: string; readonly isQuoted: boolean },
  ): void {
    if (names === undefined) return
    this.#only = isQuoted || USUAL_SEPARATORS.has(this.#separators) ? text : undefined
    this.#names = this.#names === undefined ? names : joinNames(this.#names, names)
  }

  /** As "$@" does: the first word joins what came before, the last one what follows. */
  addWords(words: readonly ShellWord[], isQuoted: boolean): void {
    for (const [index, word] of words.entries()) {
      if (index > 0) this.break()
      this.addWord(word, isQuoted)
    }
  }

  #addSplit(text: string): void {
    if (text === "") return
    if (this.#separators === "" || !hasAny(text, this.#separators)) {
      this.#addUnquotedText(text)
      return
    }
    const blanks = Array.from(this.#separators)
      .filter((separator) => " \t\n".includes(separator))
      .join("")
    let piece = ""
    let isAfterBlank = false
    for (const character of text) {
      if (!this.#separators.includes(character)) {
        if (isAfterBlank) this.break()
        isAfterBlank = false
        piece += character
        continue
      }
      this.#addUnquotedText(piece)
      piece = ""
      if (blanks.includes(character)) {
        if (this.#isPresent) isAfterBlank = true
      } else {
        this.#isPresent = true
        this.break()
        isAfterBlank = false
      }
    }
    this.#addUnquotedText(piece)
    if (isAfterBlank) this.break()
  }

  #addUnquotedText(text: string): void {
    this.addLiteral(text)
    if (isPattern(text)) this.#isPattern = true
  }

  break(): void {
    const names = this.#text === this.#only && !this.#isCut ? this.#names : asPart(this.#names)
    if (this.#isPresent) {
      this.#fields.push({
        text: this.#text,
        known: this.#isKnown,
        pattern: this.#isPattern,
        ...(this.#splits && { splits: true }),
        ...(this.#process !== undefined && { process: this.#process }),
        ...(names !== undefined && { names }),
      })
    }
    this.#text = ""
    this.#isKnown = true
    this.#isPattern = false
    this.#isPresent = false
    this.#splits = false
    this.#process = undefined
    this.#names = undefined
    this.#only = undefined
    this.#isCut = false
  }

  finish(): readonly Field[] {
    this.break()
    return this.#fields
  }
}

function isPattern(text: string): boolean {
  if (text.includes("*") || text.includes("?")) return true
  const open = text.indexOf("[")
  return open !== -1 && text.lastIndexOf("]") > open
}

function hasAny(text: string, characters: string): boolean {
  for (const character of characters) if (text.includes(character)) return true
  return false
}
