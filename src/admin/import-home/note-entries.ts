/** One fact or rule of a Markdown file. */
export interface NoteEntry {
  readonly text: string
  /** The line on which it starts. */
  readonly line: number
}

/**
 * Splits a Markdown file into entries: list items with what is indented below them, and paragraphs. The nearest heading below the title
 * goes before an entry, since the entry alone may say too little. Placeholders of templates are left out.
 */
export function splitNotes(text: string): readonly NoteEntry[] {
  const lines = withoutComments(text).replaceAll("\r\n", "\n").split("\n")
  const entries: NoteEntry[] = []
  let heading = ""
  let current: { line: number; parts: string[] } | undefined
  let fence: string | undefined
  const finish = (): void => {
    if (current !== undefined) {
      const body = current.parts.join("\n").trim()
      if (!isPlaceholder(body)) entries.push({ text: withHeading(heading, body), line: current.line })
    }
    current = undefined
  }
  const first = frontMatterLines(lines)
  for (const [index, line] of lines.slice(first).entries()) {
    const number = index + 1 + first
    const [, mark] = /^\s*(```|~~~)/u.exec(line) ?? []
    if (fence !== undefined || mark !== undefined) {
      fence = fence === undefined ? mark : mark === fence ? undefined : fence
      current ??= { line: number, parts: [] }
      current.parts.push(line)
      continue
    }
    const [, level = "", title = ""] = /^(#{1,6})\s+(.*)$/u.exec(line) ?? []
    if (level !== "") {
      finish()
      heading = level.length === 1 ? "" : title.replaceAll(/[#*_`]+/gu, "").trim()
      continue
    }
    if (line.trim() === "" || /^\s*(?:-{3,}|\*{3,}|§)\s*$/u.test(line)) {
      finish()
      continue
    }
    const [, item] = /^(?:[-*+]|\d{1,3}[.)])\s+(.*)$/u.exec(line) ?? []
    if (item !== undefined) finish()
    current ??= { line: number, parts: [] }
    current.parts.push(item ?? line)
  }
  finish()
  return entries
}

function withHeading(heading: string, body: string): string {
  return heading === "" || body.toLowerCase().startsWith(heading.toLowerCase()) ? body : `${heading}: ${body}`
}

/** Keeps the line numbers. In one pass: an expression would search the whole text for the end of every unfinished comment. */
function withoutComments(text: string): string {
  let result = ""
  let position = 0
  for (;;) {
    const start = text.indexOf("<!--", position)
    const end = start === -1 ? -1 : text.indexOf("-->", start)
    if (end === -1) return result + text.slice(position)
    result += text.slice(position, start) + text.slice(start, end).replaceAll(/[^\n]/gu, "")
    position = end + "-->".length
  }
}

function frontMatterLines(lines: readonly string[]): number {
  if (lines[0]?.trim() !== "---") return 0
  const end = lines.indexOf("---", 1)
  return end === -1 ? 0 : end + 1
}

/** `**Name:**` without a value, or a hint in italics. */
function isPlaceholder(body: string): boolean {
  const plain = body.replaceAll(/[*`]/gu, "").trim()
  return (
    plain === "" ||
    /^[^\n]{0,60}:$/u.test(plain) ||
    /^_[^\n]*_$/u.test(plain) ||
    /^[^\n:]{0,40}:\s*_[^\n]*_$/u.test(plain)
  )
}

/** Recognises texts that say the same as an earlier one, word for word or nearly so. */
export interface NearDuplicates {
  add(text: string): void
  has(text: string): boolean
}

/**
 * A text is a near-duplicate when an earlier one of about the same length contains all its words. A single other word can change a fact
 * or turn it around, so nothing less counts.
 */
export function createNearDuplicates(texts: readonly string[]): NearDuplicates {
  const entries: ReadonlySet<string>[] = []
  const entriesWith = new Map<string, number[]>()
  const add: NearDuplicates["add"] = (text) => {
    const words = wordsOf(text)
    const index = entries.push(words) - 1
    for (const word of words) {
      const known = entriesWith.get(word)
      if (known === undefined) entriesWith.set(word, [index])
      else known.push(index)
    }
  }
  for (const text of texts) add(text)
  return {
    add,
    has: (text) => {
      const words = wordsOf(text)
      const [rarest = []] = Array.from(words, (word) => entriesWith.get(word) ?? []).toSorted(
        (a, b) => a.length - b.length,
      )
      return rarest.some((index) => {
        const entry = entries[index] ?? NO_WORDS
        return entry.size <= words.size * LONGER && words.isSubsetOf(entry) && isDenied(words) === isDenied(entry)
      })
    },
  }
}

const NO_WORDS: ReadonlySet<string> = new Set()

/** How many more words an entry may have that says the same. */
const LONGER = 1.5

const DENIALS: ReadonlySet<string> = new Set(
  "no not never without avoid don't doesn't isn't can't cannot except".split(" "),
)

function isDenied(words: ReadonlySet<string>): boolean {
  return !words.isDisjointFrom(DENIALS)
}

function wordsOf(text: string): ReadonlySet<string> {
  const words =
    text
      .toLowerCase()
      .replaceAll("’", "'")
      .match(/[\p{L}\p{N}_]+(?:['./:-][\p{L}\p{N}_]+)*/gu) ?? []
  return new Set(words.filter((word) => !FILLERS.has(word)))
}

const FILLERS: ReadonlySet<string> = new Set("a an the please".split(" "))
