import { graphemeColumns, graphemes, textColumns } from "./text-width.ts"

/** Breaks streamed text at spaces instead of at the edge of the terminal. */
export interface WordWrap {
  /** The text to write now. A word that may continue in the next delta is held back. */
  feed(delta: string): string
  /** What is held back, although the word may continue. */
  release(): string
  /** What is held back. The next text begins on a new line. */
  flush(): string
}

/**
 * Code blocks, tables and words that are longer than a line are not broken: a line break inside them would be copied from the screen.
 * Lines after the first of a list item are indented like its text.
 */
export function createWordWrap(columns: () => number): WordWrap {
  let line = newLine()
  let isCode = false
  let held = ""
  // The beginning of the word is on the screen already.
  let continuesWord = false

  const place = (token: string): string => {
    if (token === "\n" || isBlank(token)) continuesWord = false
    if (token === "\n") {
      if (/^\s*(?:```|~~~)/u.test(line.start)) isCode = !isCode
      line = newLine()
      return token
    }
    const width = textColumns(token)
    const breaks =
      !isCode &&
      !continuesWord &&
      line.hasWord &&
      !isBlank(token) &&
      !/^\s*\|/u.test(line.start) &&
      line.column + line.spaces.length + width > columns() &&
      line.indent + width <= columns()
    if (isBlank(token)) {
      line = { ...line, spaces: line.spaces + token, start: start(line, token) }
      return ""
    }
    const before = breaks ? `\n${" ".repeat(line.indent)}` : line.spaces
    const from = breaks ? line.indent : line.column + textColumns(line.spaces)
    const isMarker = !line.hasWord && /^(?:[-*+•]|\d+[.)])$/u.test(token)
    line = {
      start: start(line, token),
      column: onRow(from + width, columns()),
      spaces: "",
      hasWord: true,
      indent: indentAfter({ isMarker, isFirst: !line.hasWord, from, width, indent: line.indent }, columns()),
    }
    return before + token
  }
  const placeAll = (text: string): string => tokensOf(text).map(place).join("")
  const release = (): string => {
    if (held === "") return ""
    const placed = placeAll(held)
    held = ""
    continuesWord = true
    return placed
  }

  return {
    feed: (delta) => {
      const text = held + delta
      const complete = text.length - lengthOfLastWord(text)
      held = text.slice(complete)
      const written = placeAll(text.slice(0, complete))
      return textColumns(held) <= columns() ? written : written + release()
    },
    release,
    flush: () => {
      const written = placeAll(held)
      const { spaces } = line
      held = ""
      isCode = false
      continuesWord = false
      line = newLine()
      return written + spaces
    },
  }
}

/** Breaks a complete text in the same way. The lines of a diff stay as they are. */
export function wrapWords(text: string, columns: number): string {
  if (/^(?:@@ |diff --git )/mu.test(text)) return text
  const wrap = createWordWrap(() => columns)
  return wrap.feed(text) + wrap.flush()
}

interface Line {
  /** The first characters, which tell what kind of line it is. */
  readonly start: string
  readonly column: number
  /** Spaces that have not been written, because a break may replace them. */
  readonly spaces: string
  readonly hasWord: boolean
  /** The column at which the text of the line begins. */
  readonly indent: number
}

function newLine(): Line {
  return { start: "", column: 0, spaces: "", hasWord: false, indent: 0 }
}

const MAX_START = 40

function start(line: Line, token: string): string {
  return line.start.length < MAX_START ? line.start + token : line.start
}

function indentAfter(
  word: {
    readonly isMarker: boolean
    readonly isFirst: boolean
    readonly from: number
    readonly width: number
    readonly indent: number
  },
  columns: number,
): number {
  if (!word.isFirst) return word.indent
  const indent = word.isMarker ? word.from + word.width + 1 : word.from
  return indent <= columns / 3 ? indent : 0
}

/** The column after text that the terminal itself has broken at its edge. A full row has no break yet. */
function onRow(column: number, columns: number): number {
  return column <= columns ? column : ((column - 1) % Math.max(1, columns)) + 1
}

function isBlank(token: string): boolean {
  return /^[ \t]+$/u.test(token)
}

/** Line breaks, runs of spaces, and words. Wide characters are words of their own, because their scripts have no spaces. */
function tokensOf(text: string): readonly string[] {
  return text
    .split(/(\n|[ \t]+)/u)
    .flatMap((part) => (part === "" ? [] : /^[\n \t]|^[ -~]+$/u.test(part) ? [part] : wordsOf(part)))
}

function wordsOf(text: string): readonly string[] {
  const words: string[] = []
  let narrow = ""
  for (const { segment } of graphemes(text)) {
    if (graphemeColumns(segment) < 2) {
      narrow += segment
      continue
    }
    if (narrow !== "") words.push(narrow)
    narrow = ""
    words.push(segment)
  }
  return narrow === "" ? words : [...words, narrow]
}

/** The length of the word that the next delta may continue. */
function lengthOfLastWord(text: string): number {
  return /[^\s]*$/u.exec(text)?.[0].length ?? 0
}
