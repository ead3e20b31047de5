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
  for (const [index, line] of lines.slice(frontMatterLines(lines)).entries()) {
    const number = index + 1 + frontMatterLines(lines)
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

/** Keeps the line numbers. */
function withoutComments(text: string): string {
  return text.replaceAll(/<!--[^]*?-->/gu, (comment) => comment.replaceAll(/[^\n]/gu, ""))
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

/** Part of the words that another entry must contain. Short entries must be contained completely. */
const CONTAINED = 0.95
const ALIKE = 0.8

export function createNearDuplicates(texts: readonly string[]): NearDuplicates {
  const sizes: number[] = []
  const entriesWith = new Map<string, number[]>()
  const add: NearDuplicates["add"] = (text) => {
    const words = wordsOf(text)
    const index = sizes.push(words.size) - 1
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
      const shared = new Map<number, number>()
      for (const word of words)
        for (const index of entriesWith.get(word) ?? []) shared.set(index, (shared.get(index) ?? 0) + 1)
      return shared
        .entries()
        .some(
          ([index, count]) =>
            count >= words.size * CONTAINED || count >= (words.size + (sizes[index] ?? 0) - count) * ALIKE,
        )
    },
  }
}

function wordsOf(text: string): ReadonlySet<string> {
  return new Set(text.toLowerCase().match(/[\p{L}\p{N}_./-]+/gu) ?? [])
}
