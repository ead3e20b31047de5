import type { Token, Tokens } from "marked"
import { plainText } from "../../terminal/printable-text.ts"
import type { Row } from "../drawing.ts"
import type { Theme } from "../theme/theme.ts"
import { createCodeHighlighter } from "./code.ts"
import { closeOpenMarks } from "./close-open-marks.ts"
import {
  blockRows,
  bulletOf,
  endsBlank,
  fenceLabel,
  isList,
  isSetOff,
  isTable,
  itemRows,
  literalRows,
} from "./markdown-blocks.ts"
import type { BlockOptions } from "./markdown-blocks.ts"
import { newDocument } from "./markdown-document.ts"
import type { OpenFence } from "./markdown-document.ts"
import { fenceStart, languageOf, PARTIAL_FENCE, unclosedFence, withoutIndent } from "./markdown-fence.ts"
import type { Fence } from "./markdown-fence.ts"
import { inlineSpans } from "./markdown-inline.ts"
import { createMarkdownLexer } from "./markdown-lexer.ts"
import {
  countMarks,
  isHostile,
  ITEM_MARKER,
  MAX_LINE_CHARS,
  MAX_LINE_MARKS,
  partLength,
  startsList,
  withBoundedIndent,
} from "./markdown-lines.ts"
import { rowOf, wrapSpans } from "./spans.ts"

/** Markdown that arrives in parts. How the text is split into deltas makes no difference to the rows that are returned as final. */
export interface MarkdownStream {
  /** Adds text and returns the rows that will not change any more. */
  feed(delta: string): readonly Row[]
  /** The rows of the block that is not complete. */
  tail(): readonly Row[]
  /** The remaining rows. The next text begins a new document. */
  end(): readonly Row[]
}

export interface MarkdownStreamOptions {
  readonly theme: Theme
  readonly columns: () => number
}

/** All rows of a complete text. */
export function markdownRows(
  text: string,
  options: { readonly theme: Theme; readonly columns: number },
): readonly Row[] {
  const stream = createMarkdownStream({ theme: options.theme, columns: () => options.columns })
  return [...stream.feed(text), ...stream.end()]
}

/** A block that is longer is shown in parts, so that the cost of a delta is bounded. */
const MAX_BLOCK_LINES = 200
const MAX_BLOCK_CHARS = 16_000
/** Characters that begin inline Markdown. The lexer takes quadratic time over them. */
const MAX_BLOCK_MARKS = 300

/**
 * Text is processed line by line: a line is final when it has ended, so the result depends on the lines and not on the deltas. The
 * lines of the open block are lexed again with each new line; everything before the last block they contain is final.
 */
export function createMarkdownStream({ theme, columns }: MarkdownStreamOptions): MarkdownStream {
  const lexer = createMarkdownLexer()
  const code = createCodeHighlighter()
  let document = newDocument()
  let cached: { readonly key: string; readonly rows: readonly Row[] } | undefined

  const blockOptions = (): BlockOptions => ({ theme, columns: columns(), code })

  /** The rows of blocks, with blank rows where they belong. Changes where the document stands. */
  const place = (rows: readonly Row[], kind: { readonly setOff: boolean }): readonly Row[] => {
    if (rows.length === 0) return []
    const isSeparate =
      document.hasRows && !document.joins && (document.blankBefore || kind.setOff || document.afterSetOff)
    document.hasRows = true
    document.joins = false
    document.blankBefore = false
    document.afterSetOff = kind.setOff
    return isSeparate ? ["", ...rows] : rows
  }

  const placeToken = (token: Token, isFirst: boolean): readonly Row[] => {
    if (token.type === "space") {
      document.blankBefore = true
      return []
    }
    const placed = isList(token)
      ? token.items.flatMap((item, index) => {
          const number = isFirst && document.item !== undefined ? document.item.number : firstNumber(token)
          const marker = token.ordered ? `${number + index}.` : bulletOf(0)
          const rows = place(itemRows(item, marker, blockOptions()), { setOff: false })
          if (endsBlank(item)) document.blankBefore = true
          return rows
        })
      : place(blockRows(token, { ...blockOptions(), tableWithoutHead: isFirst && document.tableHead !== undefined }), {
          setOff: isSetOff(token),
        })
    if (endsBlank(token)) document.blankBefore = true
    // The underline of a heading is not the end of a section, so a blank row before it is enough.
    if (token.type === "heading") document.afterSetOff = false
    return placed
  }

  const placeAll = (tokens: readonly Token[]): readonly Row[] => {
    const rows = tokens.flatMap((token, index) => placeToken(token, index === 0))
    document.open = []
    document.marks = 0
    document.item = undefined
    document.tableHead = undefined
    document.kind = undefined
    return rows
  }

  const openTokens = (last = ""): readonly Token[] => {
    const lines = last === "" ? document.open : [...document.open, last]
    return lines.length === 0 ? [] : lexer.blocks(`${lines.join("\n")}\n`)
  }

  const finishOpen = (): readonly Row[] => {
    return placeAll(openTokens())
  }

  /** Returns the rows of what the last line has completed. */
  const settle = (line: string): readonly Row[] => {
    const tokens = openTokens()
    const last = tokens.findLast(({ type }) => type !== "space")
    if (last === undefined || endsAtOnce(last)) return placeAll(tokens)
    if (line.trim() === "" && !isList(last)) {
      const rows = placeAll(tokens)
      document.blankBefore = true
      document.joins = false
      return rows
    }
    const before = tokens.slice(0, tokens.lastIndexOf(last))
    const rows = [...settleBefore(before), ...settleItems(last)]
    document.kind = last.type
    return isTooLong(last) ? [...rows, ...freeze(last)] : rows
  }

  const settleBefore = (tokens: readonly Token[]): readonly Row[] => {
    if (tokens.length === 0) return []
    const text = document.open.join("\n")
    const raw = tokens.map((token) => token.raw).join("")
    if (!text.startsWith(raw)) return []
    const rest = text.slice(raw.length)
    const rows = placeAll(tokens)
    document.open = rest.split("\n")
    document.marks = countMarks(rest)
    return rows
  }

  /** All items of an open list are final except the last one. */
  const settleItems = (list: Token): readonly Row[] => {
    if (!isList(list) || list.items.length < 2) return []
    const done = list.items.slice(0, -1)
    const text = document.open.join("\n")
    const raw = done.map((item) => item.raw).join("")
    if (!text.startsWith(raw)) return []
    const number = (document.item?.number ?? firstNumber(list)) + done.length
    const rows = placeToken({ ...list, items: done, raw }, true)
    const rest = text.slice(raw.length)
    document.open = rest.split("\n")
    document.marks = countMarks(rest)
    document.item = { number }
    return rows
  }

  const isLong = (): boolean =>
    document.open.length >= MAX_BLOCK_LINES ||
    document.marks > MAX_BLOCK_MARKS ||
    document.open.reduce((sum, line) => sum + line.length, 0) >= MAX_BLOCK_CHARS

  // Every cell of a table is lexed by itself.
  const isTooLong = (token: Token): boolean => isLong() && (!isTable(token) || document.open.length >= MAX_BLOCK_LINES)

  /** A line that can only belong to the open block needs no lexer: text of a paragraph, or indented lines of a list item. */
  const continuesBlock = (text: string): boolean => {
    const [first = ""] = document.open
    if (document.open.length < 2) return false
    if (document.kind === "paragraph") return /^\p{L}/u.test(text)
    const [marker = ""] = document.kind === "list" ? (ITEM_MARKER.exec(first) ?? []) : []
    return marker !== "" && text.startsWith(" ".repeat(marker.length))
  }

  /** Makes the rows of the open block final, although it goes on. */
  const freeze = (token: Token): readonly Row[] => {
    const [head, rule] = document.open
    const fence = unclosedFence(document.open)
    const rows = finishOpen()
    if (fence !== undefined) document.fence = { ...fence, block: code.open({ theme, language: languageOf(fence) }) }
    if (isTable(token) && head !== undefined && rule !== undefined) {
      document.tableHead = [head, rule]
      document.open = [head, rule]
    }
    document.joins = true
    return rows
  }

  const openFence = (fence: Fence): readonly Row[] => {
    const block = code.open({ theme, language: languageOf(fence) })
    const label = fenceLabel(fence.info, { theme, columns: columns() })
    const rows = place(label.length === 0 ? [""] : label, { setOff: true })
    document.fence = { ...fence, block }
    // Without a label there is no row of the block yet, only the blank one before it.
    return label.length === 0 ? rows.slice(0, -1) : rows
  }

  const fenceLine = (fence: OpenFence, line: string, isWhole: boolean): readonly Row[] => {
    if (isWhole && fence.isEnd(line)) {
      document.fence = undefined
      return fence.endLine === undefined ? [] : fence.block.line(line, columns())
    }
    return fence.block.line(withoutIndent(line, fence.indent), columns())
  }

  const blockLine = (line: string): readonly Row[] => {
    const isInItem = document.open.length > 0 && /^ {2,}/u.test(line) && startsList(document.open)
    const fence = isInItem ? undefined : fenceStart(line)
    if (fence !== undefined) {
      const rows = [...finishOpen(), ...openFence(fence)]
      if (fence.endLine === undefined || document.fence === undefined) return rows
      return [...rows, ...document.fence.block.line(line, columns())]
    }
    if (isHostile(line)) return [...finishOpen(), ...place(literalRows(line, columns()), { setOff: false })]
    if (line.trim() === "" && document.open.length === 0) {
      document.blankBefore = true
      document.joins = false
      return []
    }
    const bounded = withBoundedIndent(line)
    document.open.push(bounded)
    document.marks += countMarks(bounded)
    return continuesBlock(bounded) && !isLong() ? [] : settle(line)
  }

  /** A part of a line that is too long to be read as a whole. */
  const linePart = (text: string): readonly Row[] => {
    const rows = finishOpen()
    const isText = document.isMidLine || !isHostile(text)
    document.isMidLine = true
    const spans = isText && countMarks(text) <= MAX_LINE_MARKS ? inlineSpans(lexer.inline(text), { theme }) : undefined
    const part = spans === undefined ? literalRows(text, columns()) : wrapSpans(spans, columns()).map(rowOf)
    return [...rows, ...place(part, { setOff: false })]
  }

  const line = (raw: string): readonly Row[] => {
    const text = plainText(raw).replaceAll("\n", "")
    if (document.fence !== undefined) return fenceLine(document.fence, text, true)
    if (!document.isMidLine) return blockLine(text)
    const rows = text.trim() === "" ? [] : linePart(text)
    document.isMidLine = false
    return rows
  }

  const tailRows = (pending: string): readonly Row[] => {
    const { fence } = document
    if (fence !== undefined) {
      return pending === "" || PARTIAL_FENCE.test(pending)
        ? []
        : fence.block.unfinished(withoutIndent(pending, fence.indent), columns())
    }
    if (document.isMidLine || isHostile(pending)) return pending === "" ? [] : literalRows(pending, columns())
    // The state of the document changes when blocks are placed, and the tail is not final.
    const saved = { ...document }
    try {
      const last = PARTIAL_FENCE.test(pending) ? "" : closeOpenMarks(withBoundedIndent(pending))
      const tokens = openTokens(last)
      return tokens.flatMap((token, index) =>
        isTable(token)
          ? place(literalRows(token.raw.trimEnd(), columns()), { setOff: true })
          : placeToken(token, index === 0),
      )
    } finally {
      document = saved
    }
  }

  return {
    feed: (delta) => {
      const rows: Row[] = []
      const add = (more: readonly Row[]): void => {
        for (const row of more) rows.push(row)
      }
      const text = document.pending + delta
      let start = 0
      for (;;) {
        const newline = text.indexOf("\n", start)
        const end = newline === -1 ? text.length : newline
        while (end - start > MAX_LINE_CHARS) {
          const length = partLength(text, start)
          const part = plainText(text.slice(start, start + length)).replaceAll("\n", "")
          add(document.fence === undefined ? linePart(part) : fenceLine(document.fence, part, false))
          start += length
        }
        if (newline === -1) break
        add(line(text.slice(start, end)))
        start = end + 1
      }
      document.pending = text.slice(start)
      return rows
    },
    tail: () => {
      const key = `${columns()} ${document.hasRows} ${document.open.join("\n")}\n${document.pending}`
      if (cached?.key !== key) cached = { key, rows: tailRows(plainText(document.pending).replaceAll("\n", "")) }
      return cached.rows
    },
    end: () => {
      const rows = [...(document.pending === "" ? [] : line(document.pending)), ...finishOpen()]
      document = newDocument()
      return rows
    },
  }
}

function firstNumber({ start }: Tokens.List): number {
  return typeof start === "number" ? start : 1
}

/** A heading and a rule end with their line. */
function endsAtOnce(token: Token): boolean {
  return token.type === "heading" || token.type === "hr"
}
