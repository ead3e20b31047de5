import { diffWordsWithSpace } from "diff"
import { counted } from "../../base/counted.ts"
import { visibleName } from "../../base/visible-text.ts"
import { plainText } from "../../terminal/printable-text.ts"
import type { Row } from "../drawing.ts"
import type { ColorRole, Theme } from "../theme/theme.ts"
import { clipSpans, cutSpans, rowOf, span } from "./spans.ts"
import type { Paint, Span } from "./spans.ts"

export interface DiffOptions {
  readonly theme: Theme
  readonly columns: number
  /** Default 6. */
  readonly maxFiles?: number
  /** Default 80. */
  readonly maxLines?: number
}

const MAX_FILES = 6
const MAX_LINES = 80
/** Longer lines and larger blocks are compared as lines only, because comparing words takes quadratic time. */
const MAX_WORD_DIFF_CHARS = 500
const MAX_WORD_DIFF_PAIRS = 50
const TAB = "    "

/** A unified diff: a header for each file, line numbers, and the changed words of changed lines. */
export function diffRows(diff: string, { theme, columns, ...limits }: DiffOptions): readonly Row[] {
  const files = parseDiff(diff)
  const shown = files.slice(0, limits.maxFiles ?? MAX_FILES)
  const rows: Row[] = []
  let left = limits.maxLines ?? MAX_LINES
  let hiddenLines = 0
  let hiddenFiles = 0
  for (const [index, file] of files.entries()) {
    const count = file.hunks.reduce((sum, { lines }) => sum + lines.length, 0)
    if (index >= shown.length || left <= 0) {
      hiddenLines += count
      hiddenFiles += 1
      continue
    }
    rows.push(headerRow(file, theme, columns))
    for (const [number, hunk] of file.hunks.entries()) {
      const lines = hunk.lines.slice(0, Math.max(0, left))
      hiddenLines += hunk.lines.length - lines.length
      if (lines.length === 0) continue
      left -= lines.length
      if (number > 0) rows.push(theme.style("dim", "  ⋮"))
      for (const row of hunkRows({ ...hunk, lines }, { theme, columns })) rows.push(row)
    }
  }
  return hiddenLines === 0 && hiddenFiles === 0 ? rows : [...rows, leftOut(hiddenLines, hiddenFiles, theme)]
}

function leftOut(lines: number, files: number, theme: Theme): Row {
  const what = [
    ...(lines === 0 ? [] : [counted(lines, "more line")]),
    ...(files === 0 ? [] : [lines === 0 ? counted(files, "more file") : `in ${counted(files, "more file")}`]),
  ]
  return theme.style("dim", `  … ${files > 0 && lines > 0 ? what.join(", also ") : what.join("")}`)
}

interface FileDiff {
  readonly from: string
  readonly to: string
  readonly hunks: Hunk[]
}

interface Hunk {
  readonly oldStart: number
  readonly newStart: number
  readonly lines: string[]
}

const HUNK = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/u

function parseDiff(diff: string): readonly FileDiff[] {
  const files: FileDiff[] = []
  let from = ""
  let hunk: Hunk | undefined
  let [oldLeft, newLeft] = [0, 0]
  for (const raw of diff.replace(/\n+$/u, "").split("\n")) {
    const line = plainText(raw)
    const isInHunk = hunk !== undefined && (oldLeft > 0 || newLeft > 0)
    if (isInHunk && /^[ +\-\\]|^$/u.test(line)) {
      hunk?.lines.push(line)
      if (!line.startsWith("+") && !line.startsWith("\\")) oldLeft -= 1
      if (!line.startsWith("-") && !line.startsWith("\\")) newLeft -= 1
      continue
    }
    const header = HUNK.exec(line)
    if (header !== null) {
      const [, oldStart = "1", oldCount = "1", newStart = "1", newCount = "1"] = header
      hunk = { oldStart: Number(oldStart), newStart: Number(newStart), lines: [] }
      oldLeft = Number(oldCount)
      newLeft = Number(newCount)
      if (files.length === 0) files.push({ from: "", to: "", hunks: [] })
      files.at(-1)?.hunks.push(hunk)
    } else if (line.startsWith("\\")) {
      hunk?.lines.push(line)
    } else if (line.startsWith("--- ")) {
      from = pathOf(raw)
    } else if (line.startsWith("+++ ")) {
      files.push({ from, to: pathOf(raw), hunks: [] })
      hunk = undefined
    }
  }
  return files
}

function pathOf(line: string): string {
  return visibleName(line.slice(4).split("\t", 1)[0]?.trim() ?? "")
}

function headerRow({ from, to, hunks }: FileDiff, theme: Theme, columns: number): Row {
  const count = (sign: string): number =>
    hunks.reduce((sum, { lines }) => sum + lines.filter((line) => line.startsWith(sign)).length, 0)
  const name = from === "/dev/null" ? `${to} (new)` : to === "/dev/null" ? `${from} (deleted)` : `${from} → ${to}`
  const numbers: readonly Span[] = [
    span(`  +${count("+")}`, (text) => theme.paint("ui_ok", text)),
    span(` -${count("-")}`, (text) => theme.paint("ui_error", text)),
  ]
  const width = numbers.reduce((sum, { text }) => sum + text.length, 0)
  const title = clipSpans([span(name, (text) => theme.style("bold", text))], Math.max(8, columns - width))
  return rowOf(clipSpans([...title.spans, ...numbers], columns))
}

/** One line of a hunk with the parts that differ from its counterpart. */
interface DiffLine {
  readonly sign: " " | "+" | "-" | "\\"
  readonly number: number | undefined
  readonly parts: readonly { readonly text: string; readonly changed: boolean }[]
}

function hunkRows(hunk: Hunk, { theme, columns }: Pick<DiffOptions, "theme" | "columns">): readonly Row[] {
  const lines = diffLines(hunk)
  const width = String(Math.max(...lines.map(({ number }) => number ?? 0))).length
  const dim: Paint = (text) => theme.style("dim", text)
  return lines.flatMap(({ sign, number, parts }) => {
    const role: ColorRole | undefined = sign === "+" ? "ui_ok" : sign === "-" ? "ui_error" : undefined
    const paint: Paint | undefined = role === undefined ? undefined : (text) => theme.paint(role, text)
    const changed: Paint = (text) => theme.style("inverse", paint === undefined ? text : paint(text))
    const gutter = `  ${String(number ?? "").padStart(width)} `
    const spans = parts.map((part) => span(part.text, part.changed ? changed : paint))
    return cutSpans(spans, columns - gutter.length - 2).map((line, index) => {
      const mark = index === 0 ? (sign === "\\" ? " " : sign) : " "
      const before = [span(index === 0 ? gutter : " ".repeat(gutter.length), dim), span(`${mark} `, paint)]
      return rowOf({ spans: [...before, ...line.spans] }).trimEnd()
    })
  })
}

function diffLines({ oldStart, newStart, lines }: Hunk): readonly DiffLine[] {
  const shown: DiffLine[] = []
  let oldNumber = oldStart
  let newNumber = newStart
  let index = 0
  while (index < lines.length) {
    const removed = run(lines, index, "-")
    const added = run(lines, index + removed.length, "+")
    if (removed.length + added.length === 0) {
      const line = lines[index] ?? ""
      const isNote = line.startsWith("\\")
      shown.push({
        sign: isNote ? "\\" : " ",
        number: isNote ? undefined : newNumber,
        parts: [{ text: content(line), changed: false }],
      })
      if (!isNote) {
        oldNumber += 1
        newNumber += 1
      }
      index += 1
      continue
    }
    const pairs = comparedWords(removed, added)
    shown.push(
      ...removed.map((line, at): DiffLine => ({
        sign: "-",
        number: oldNumber + at,
        parts: pairs.old[at] ?? whole(line),
      })),
      ...added.map((line, at): DiffLine => ({
        sign: "+",
        number: newNumber + at,
        parts: pairs.new[at] ?? whole(line),
      })),
    )
    oldNumber += removed.length
    newNumber += added.length
    index += removed.length + added.length
  }
  return shown
}

function run(lines: readonly string[], start: number, sign: "+" | "-"): readonly string[] {
  let end = start
  while (lines[end]?.startsWith(sign) === true) end += 1
  return lines.slice(start, end)
}

function content(line: string): string {
  return (line.startsWith("\\") ? line : line.slice(1)).replaceAll("\t", TAB)
}

type Parts = DiffLine["parts"]

function whole(line: string): Parts {
  return [{ text: content(line), changed: false }]
}

/** Compares the lines of a changed block pair by pair. Lines that have little in common are not marked. */
function comparedWords(
  removed: readonly string[],
  added: readonly string[],
): { readonly old: readonly (Parts | undefined)[]; readonly new: readonly (Parts | undefined)[] } {
  const count = Math.min(removed.length, added.length)
  if (count > MAX_WORD_DIFF_PAIRS || removed.length !== added.length) return { old: [], new: [] }
  const pairs = Array.from({ length: count }, (_, index) => changedWords(removed[index] ?? "", added[index] ?? ""))
  return { old: pairs.map((pair) => pair?.old), new: pairs.map((pair) => pair?.new) }
}

function changedWords(removed: string, added: string): { readonly old: Parts; readonly new: Parts } | undefined {
  const [before, after] = [content(removed), content(added)]
  if (before.length > MAX_WORD_DIFF_CHARS || after.length > MAX_WORD_DIFF_CHARS) return undefined
  const changes = diffWordsWithSpace(before, after)
  const kept = changes.reduce((sum, part) => sum + (part.added || part.removed ? 0 : part.value.trim().length), 0)
  if (kept * 3 < Math.max(before.trim().length, after.trim().length)) return undefined
  const side = (other: "added" | "removed"): Parts =>
    changes.flatMap((part) => (part[other] ? [] : [{ text: part.value, changed: part.added || part.removed }]))
  return { old: side("added"), new: side("removed") }
}
