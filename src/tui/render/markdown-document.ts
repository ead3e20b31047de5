import type { CodeBlock } from "./code.ts"
import type { Fence } from "./markdown-fence.ts"

export interface OpenFence extends Fence {
  readonly block: CodeBlock
}

/** Where the stream stands in its text. */
export interface Document {
  /** The beginning of a line. */
  pending: string
  /** The lines of the open block. */
  open: string[]
  /** What the lexer took the open block for. */
  kind: string | undefined
  /** How many characters of the open block begin inline Markdown. */
  marks: number
  /** The open block is an item of a list whose earlier items are final. */
  item: { readonly number: number } | undefined
  /** The open block is a table whose first rows are final. */
  tableHead: readonly [string, string] | undefined
  fence: OpenFence | undefined
  /** The beginning of the line is final. */
  isMidLine: boolean
  hasRows: boolean
  /** What follows belongs to the last rows. */
  joins: boolean
  blankBefore: boolean
  afterSetOff: boolean
}

export function newDocument(): Document {
  return {
    pending: "",
    open: [],
    kind: undefined,
    marks: 0,
    item: undefined,
    tableHead: undefined,
    fence: undefined,
    isMidLine: false,
    hasRows: false,
    joins: false,
    blankBefore: false,
    afterSetOff: false,
  }
}
