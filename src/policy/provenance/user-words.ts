import { canonical } from "./canonical-text.ts"

const MAX_CHARS = 200_000

/** What the user wrote in this conversation, for the question whether they named a value themselves. */
export interface UserWords {
  add(text: string): void
  /** Whether they wrote this value as a word of its own. */
  name(value: string): boolean
  /** Whether they wrote this text, apart from spaces and punctuation. */
  contain(text: string): boolean
  /** Whether they asked for something in words that the pattern describes. */
  match(pattern: RegExp): boolean
  /** The share of the words of a text that they used themselves, in any ending. */
  cover(text: string): number
}

export function createUserWords(): UserWords {
  let words = ""
  let plain: string | undefined
  let stems: ReadonlySet<string> | undefined
  return {
    add: (text) => {
      words = `${words}\n${text.normalize("NFKC").toLowerCase()}`.slice(-MAX_CHARS)
      plain = undefined
      stems = undefined
    },
    name: (value) => hasWord(words, value.toLowerCase()),
    contain: (text) => (plain ??= canonical(words)).includes(canonical(text)),
    match: (pattern) => pattern.test(words),
    cover: (text) => {
      const known = (stems ??= new Set(stemsOf(words)))
      const asked = stemsOf(text.toLowerCase()).filter((stem) => !NEUTRAL_STEMS.has(stem))
      return asked.length === 0 ? 1 : asked.filter((stem) => known.has(stem)).length / asked.length
    },
  }
}

function hasWord(text: string, value: string): boolean {
  if (value === "") return false
  for (let at = text.indexOf(value); at !== -1; at = text.indexOf(value, at + 1)) {
    const before = text[at - 1] ?? " "
    const after = text.slice(at + value.length, at + value.length + 2)
    // A full stop ends a sentence; followed by a letter it continues a name.
    if (!/[\p{L}\p{N}_-]/u.test(before) && !/^(?:[\p{L}\p{N}_-]|\.[\p{L}\p{N}])/u.test(after)) return true
  }
  return false
}

const STEM_CHARS = 5

function stemsOf(text: string): readonly string[] {
  return Array.from(text.matchAll(/[\p{L}\p{N}]{3,}/gu), ([word]) => word.slice(0, STEM_CHARS))
}

/** Words that a note about the user has of itself. */
const NEUTRAL_STEMS: ReadonlySet<string> = new Set(
  "user users prefers likes wants always never uses using their they them the and for with that this from are has have not but name named called should project team"
    .split(" ")
    .map((word) => word.slice(0, STEM_CHARS)),
)
