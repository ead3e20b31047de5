import type { Token, Tokens } from "marked"
import { plainText } from "../../terminal/printable-text.ts"
import { textColumns } from "../../terminal/text-width.ts"
import type { Row } from "../drawing.ts"
import type { Theme } from "../theme/theme.ts"
import type { CodeHighlighter } from "./code.ts"
import { innerTokens, inlineSpans, stringOf } from "./markdown-inline.ts"
import { tableRows } from "./markdown-table.ts"
import { cutSpans, rowOf, span, wrapSpans } from "./spans.ts"

export interface BlockOptions {
  readonly theme: Theme
  readonly columns: number
  readonly code: CodeHighlighter
  /** The number of lists around the block. */
  readonly depth?: number
  readonly tableWithoutHead?: boolean
}

/** The rows of one block. */
export function blockRows(token: Token, options: BlockOptions): readonly Row[] {
  const { theme, columns } = options
  if (isTable(token)) {
    return tableRows(token, { theme, columns, withoutHead: options.tableWithoutHead === true })
  }
  if (isList(token)) return listRows(token, options)
  switch (token.type) {
    case "heading":
      return headingRows(token, options)
    case "code":
      return fencedRows(stringOf(token, "text"), stringOf(token, "lang"), options)
    case "blockquote":
      return quoteRows(innerTokens(token) ?? [], options)
    case "hr":
      return [theme.style("dim", "─".repeat(Math.min(columns, MAX_RULE_COLUMNS)))]
    case "space":
      return []
    case "paragraph":
    case "text":
      return wrapSpans(inlineSpans(innerTokens(token) ?? [token], { theme }), columns).map(rowOf)
    // HTML and definitions of link targets are shown as they were written.
    default:
      return literalRows(token.raw.replace(/\n+$/u, ""), columns)
  }
}

/** Text without any Markdown. */
export function literalRows(text: string, columns: number): readonly Row[] {
  return plainText(text)
    .replaceAll("\t", TAB)
    .split("\n")
    .flatMap((line) => {
      const [indent = ""] = /^ */u.exec(line) ?? []
      const rest = wrapSpans([span(line.trimStart())], columns - Math.min(indent.length, MAX_LITERAL_INDENT))
      return rest.map((part) =>
        part.columns === 0 ? "" : " ".repeat(Math.min(indent.length, MAX_LITERAL_INDENT)) + rowOf(part),
      )
    })
}

/** A row that names the language of the code below it. */
export function fenceLabel(info: string, { theme, columns }: Pick<BlockOptions, "theme" | "columns">): readonly Row[] {
  const text = plainText(info).replaceAll(/\s+/gu, " ").trim()
  if (text === "") return []
  return cutSpans([span(text, (part) => theme.style("dim", part))], columns - 2).map((line) => `  ${rowOf(line)}`)
}

/** Whether a blank row stands between two blocks even if the text has no blank line there. */
export function isSetOff(token: Token): boolean {
  return token.type === "code" || token.type === "table" || token.type === "heading"
}

export function isTable(token: Token): token is Tokens.Table {
  return token.type === "table" && "header" in token && "rows" in token && "align" in token
}

export function isList(token: Token): token is Tokens.List {
  return token.type === "list" && "items" in token && "ordered" in token
}

/** One item of a list, with its bullet or number. */
export function itemRows(item: Tokens.ListItem, marker: string, options: BlockOptions): readonly Row[] {
  const { theme, columns, depth = 0 } = options
  const box = item.task ? (item.checked === true ? "☑ " : "☐ ") : ""
  const width = textColumns(marker) + 1
  // Deeper lists than the screen has room for are not indented further.
  const indent = columns - width >= MIN_TEXT_COLUMNS ? width : 0
  const [first = "", ...rest] = blocksRows(withBox(item, box), {
    ...options,
    columns: columns - indent,
    depth: depth + 1,
  })
  const head = theme.paint("banner_accent", marker)
  if (indent === 0) return [head, first, ...rest]
  return [`${head} ${first}`.trimEnd(), ...rest.map((row) => (row === "" ? "" : " ".repeat(indent) + row))]
}

export function bulletOf(depth: number): string {
  return BULLETS[depth % BULLETS.length] ?? "•"
}

const BULLETS = ["•", "◦", "▪"]
const TAB = "    "
const MAX_LITERAL_INDENT = 20
const MAX_RULE_COLUMNS = 60
/** Containers stop being indented when less than this is left for their text. */
const MIN_TEXT_COLUMNS = 16

function withBox(item: Tokens.ListItem, box: string): readonly Token[] {
  const tokens = item.tokens.filter(({ type }) => type !== "checkbox")
  if (box === "") return tokens
  const mark: Token = { type: "text", raw: box, text: box }
  const [first, ...rest] = tokens
  const inner = first === undefined ? undefined : innerTokens(first)
  if (first === undefined || inner === undefined || (first.type !== "text" && first.type !== "paragraph")) {
    return [mark, ...tokens]
  }
  return [{ type: "paragraph", raw: first.raw, text: "", tokens: [mark, ...inner] }, ...rest]
}

/** The rows of several blocks inside a container. */
function blocksRows(tokens: readonly Token[], options: BlockOptions): readonly Row[] {
  const rows: Row[] = []
  let previous: Token | undefined
  let isBlankBefore = false
  for (const token of tokens) {
    if (token.type === "space") {
      isBlankBefore = true
      continue
    }
    if (previous !== undefined && (isBlankBefore || isSetOff(token) || isSetOff(previous))) rows.push("")
    for (const row of blockRows(token, options)) rows.push(row)
    previous = token
    isBlankBefore = endsBlank(token)
  }
  return rows
}

export function endsBlank(token: Pick<Token, "raw">): boolean {
  return /\n[ \t]*\n[ \t]*$/u.test(token.raw.slice(-100))
}

function listRows(list: Tokens.List, options: BlockOptions): readonly Row[] {
  const start = typeof list.start === "number" ? list.start : 1
  return list.items.flatMap((item, index) => {
    const before = list.items[index - 1]
    const marker = list.ordered ? `${start + index}.` : bulletOf(options.depth ?? 0)
    const rows = itemRows(item, marker, options)
    return before !== undefined && endsBlank(before) ? ["", ...rows] : rows
  })
}

function headingRows(token: Token, { theme, columns }: BlockOptions): readonly Row[] {
  const level = "depth" in token && typeof token.depth === "number" ? token.depth : 1
  const paint = (text: string): string => {
    const bold = theme.style("bold", text)
    const colored = level <= 2 ? theme.paint("banner_title", bold) : bold
    return level === 1 ? theme.style("underline", colored) : colored
  }
  const spans = inlineSpans(innerTokens(token) ?? [], { theme, paint })
  const marks = theme.color ? [] : [span(`${"#".repeat(level)} `)]
  return wrapSpans([...marks, ...spans], columns).map(rowOf)
}

function fencedRows(text: string, info: string, options: BlockOptions): readonly Row[] {
  const [language = ""] = info.split(/\s/u, 1)
  const block = options.code.open({ theme: options.theme, language })
  return [
    ...fenceLabel(info, options),
    ...plainText(text)
      .split("\n")
      .flatMap((line) => block.line(line, options.columns)),
  ]
}

function quoteRows(tokens: readonly Token[], options: BlockOptions): readonly Row[] {
  const isIndented = options.columns - 2 >= MIN_TEXT_COLUMNS
  const rows = blocksRows(tokens, { ...options, columns: isIndented ? options.columns - 2 : options.columns })
  const bar = isIndented ? `${options.theme.paint("banner_dim", "│")} ` : ""
  return rows.map((row) => (bar + row).trimEnd())
}
