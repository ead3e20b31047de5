import { graphemeColumns, graphemes, takeColumns, textColumns } from "../../terminal/text-width.ts"
import type { Row } from "../drawing.ts"

export type Paint = (text: string) => string

/** A run of printable text in one style. A newline in it is a line break. */
export interface Span {
  readonly text: string
  readonly paint?: Paint | undefined
}

/** Spans that fit on one row. */
export interface Line {
  readonly spans: readonly Span[]
  readonly columns: number
}

export function span(text: string, paint?: Paint): Span {
  return { text, paint }
}

export function rowOf({ spans }: Pick<Line, "spans">): Row {
  return spans.map(({ text, paint }) => (paint === undefined || text === "" ? text : paint(text))).join("")
}

/** Breaks text at spaces. Wide characters may be separated from each other; a word that is longer than a row is cut. */
export function wrapSpans(spans: readonly Span[], columns: number): readonly Line[] {
  const width = Math.max(MIN_COLUMNS, columns)
  const lines: Line[] = []
  let row = newLine()
  let gap: Span | undefined
  let word = newLine()

  const breakRow = (): void => {
    lines.push(row)
    row = newLine()
    gap = undefined
  }
  const placeWord = (): void => {
    if (word.columns === 0 && word.spans.length === 0) return
    const before = row.columns > 0 && gap !== undefined ? gap.text.length : 0
    if (row.columns > 0 && row.columns + before + word.columns > width) breakRow()
    else if (before > 0 && gap !== undefined) add(row, gap, before)
    gap = undefined
    if (word.columns <= width) {
      for (const part of word.spans) add(row, part, 0)
      row.columns += word.columns
    } else {
      const cut = cutSpans(word.spans, width)
      lines.push(...cut.slice(0, -1))
      row = unfinished(cut.at(-1))
    }
    word = newLine()
  }

  for (const { text, paint } of spans) {
    for (const token of text.split(BREAKS)) {
      if (token === "") continue
      if (token === "\n") {
        placeWord()
        breakRow()
      } else if (token.startsWith(" ")) {
        placeWord()
        gap ??= { text: token, paint }
      } else if (PRINTABLE_ASCII.test(token)) {
        add(word, { text: token, paint }, token.length)
      } else {
        for (const part of wideParts(token)) {
          if (part.wide) placeWord()
          add(word, { text: part.text, paint }, part.columns)
          if (part.wide) placeWord()
        }
      }
    }
  }
  placeWord()
  return row.spans.length > 0 || lines.length === 0 ? [...lines, row] : lines
}

/** Breaks text exactly at the edge and keeps all of its spaces, as code needs it. */
export function cutSpans(spans: readonly Span[], columns: number): readonly Line[] {
  const width = Math.max(MIN_COLUMNS, columns)
  const lines: Line[] = []
  let row = newLine()
  const place = (text: string, columns: number, paint: Paint | undefined): void => {
    if (row.columns + columns > width) {
      lines.push(row)
      row = newLine()
    }
    add(row, { text, paint }, columns)
  }
  for (const { text, paint } of spans) {
    if (PRINTABLE_ASCII.test(text)) {
      let rest = text
      while (rest !== "") {
        const free = row.columns === width ? width : width - row.columns
        place(rest.slice(0, free), Math.min(free, rest.length), paint)
        rest = rest.slice(free)
      }
    } else {
      for (const { segment } of graphemes(text)) place(segment, graphemeColumns(segment), paint)
    }
  }
  return [...lines, row]
}

/** The beginning of a line, with an ellipsis where the rest does not fit. */
export function clipSpans(spans: readonly Span[], columns: number): Line {
  const total = spans.reduce((sum, { text }) => sum + textColumns(text), 0)
  const row = newLine()
  if (total <= columns) {
    for (const part of spans) add(row, part, textColumns(part.text))
    return row
  }
  for (const { text, paint } of spans) {
    const taken = takeColumns(text, Math.max(0, columns - 1 - row.columns))
    if (taken !== "") add(row, { text: taken, paint }, textColumns(taken))
    if (taken !== text) {
      add(row, { text: "…", paint }, 1)
      break
    }
  }
  return row
}

interface GrowingLine {
  readonly spans: Span[]
  columns: number
}

/** Less cannot hold a wide character. */
const MIN_COLUMNS = 2
const BREAKS = /(\n| +)/u
const PRINTABLE_ASCII = /^[ -~]*$/u

function newLine(): GrowingLine {
  return { spans: [], columns: 0 }
}

function unfinished(line: Line | undefined): GrowingLine {
  return { spans: [...(line?.spans ?? [])], columns: line?.columns ?? 0 }
}

function add(line: GrowingLine, part: Span, columns: number): void {
  const last = line.spans.at(-1)
  if (last !== undefined && last.paint === part.paint) {
    line.spans[line.spans.length - 1] = { text: last.text + part.text, paint: part.paint }
  } else {
    line.spans.push(part)
  }
  line.columns += columns
}

interface WordPart {
  readonly text: string
  readonly columns: number
  readonly wide: boolean
}

function wideParts(token: string): readonly WordPart[] {
  const parts: WordPart[] = []
  for (const { segment } of graphemes(token)) {
    const columns = graphemeColumns(segment)
    const last = parts.at(-1)
    if (columns < 2 && last !== undefined && !last.wide) {
      parts[parts.length - 1] = { text: last.text + segment, columns: last.columns + columns, wide: false }
    } else {
      parts.push({ text: segment, columns, wide: columns >= 2 })
    }
  }
  return parts
}
