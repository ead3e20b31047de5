import highlighter from "highlight.js/lib/core"
import type { Emitter, HLJSApi } from "highlight.js"
import { plainText } from "../../terminal/printable-text.ts"
import type { Row } from "../drawing.ts"
import type { ColorRole, Theme } from "../theme/theme.ts"
import { GRAMMARS } from "./grammars.ts"
import { cutSpans, rowOf, span } from "./spans.ts"
import type { Paint, Span } from "./spans.ts"

export interface CodeOptions {
  readonly theme: Theme
  /** A name, an alias or a file extension. Code in an unknown language is not coloured. */
  readonly language: string
}

/** Code that arrives line by line. */
export interface CodeBlock {
  /** The rows of the next line. */
  line(text: string, columns: number): readonly Row[]
  /** The rows of a line that is not complete yet. */
  unfinished(text: string, columns: number): readonly Row[]
}

/** Creates the highlighter of one conversation. Grammars are compiled on first use. */
export interface CodeHighlighter {
  open(options: CodeOptions): CodeBlock
}

export function createCodeHighlighter(): CodeHighlighter {
  const engine = highlighter.newInstance()
  engine.configure({ __emitter: ScopeEmitter, throwUnescapedHTML: false })
  return { open: (options) => openBlock(engine, options) }
}

/** All rows of a complete text. */
export function codeRows(text: string, options: CodeOptions & { readonly columns: number }): readonly Row[] {
  const block = createCodeHighlighter().open(options)
  return plainText(text)
    .replace(/\n$/u, "")
    .split("\n")
    .flatMap((line) => block.line(line, options.columns))
}

const INDENT = "  "
const CONTINUED = "↪ "
const TAB = "    "
/** A longer line is hardly code that people read, and highlighting it takes time. */
const MAX_HIGHLIGHTED_CHARS = 1000
/** How much code before a line is read again to know whether the line is inside a comment or a string. */
const MAX_CONTEXT_LINES = 60

function openBlock(engine: HLJSApi, { theme, language }: CodeOptions): CodeBlock {
  const grammar = theme.color ? registered(engine, language) : undefined
  const paints = new Map<string, Paint | undefined>()
  // Lines since the grammar was last outside of everything, so that its state does not have to be stored.
  let context: readonly string[] = []

  const highlight = (line: string): { readonly spans: readonly Span[]; readonly isOutside: boolean } => {
    const plain = { spans: [span(line)], isOutside: true }
    if (grammar === undefined || line.length > MAX_HIGHLIGHTED_CHARS) return plain
    const code = [...context, line].join("\n")
    const result = engine.highlight(code, { language: grammar, ignoreIllegals: true })
    if (!(result._emitter instanceof ScopeEmitter)) return plain
    const spans = lastLine(result._emitter.pieces).map(({ text, scope }) => span(text, paintOf(scope, theme, paints)))
    const { _top: top } = result
    return { spans, isOutside: top === undefined || !("parent" in top) || top.parent === undefined }
  }
  const rows = (spans: readonly Span[], columns: number): readonly Row[] => {
    const mark = (text: string): string => theme.style("dim", text)
    const width = columns - INDENT.length - CONTINUED.length
    if (spans.every(({ text }) => text.trim() === "")) return [""]
    return cutSpans(spans, width).map((line, index) =>
      index === 0 ? INDENT + rowOf(line) : INDENT + mark(CONTINUED) + rowOf(line),
    )
  }
  return {
    line: (text, columns) => {
      const line = text.replaceAll("\t", TAB)
      const { spans, isOutside } = highlight(line)
      context = isOutside || context.length >= MAX_CONTEXT_LINES ? [] : [...context, line]
      return rows(spans, columns)
    },
    unfinished: (text, columns) => rows(highlight(text.replaceAll("\t", TAB)).spans, columns),
  }
}

/** The name of the grammar for a language, registered; undefined when there is none. */
function registered(engine: HLJSApi, language: string): string | undefined {
  const wanted = language.toLowerCase()
  const found = Object.entries(GRAMMARS).find(([name, { aliases }]) => name === wanted || aliases.includes(wanted))
  if (found === undefined) return undefined
  const [name, { define }] = found
  if (engine.getLanguage(name) === undefined) engine.registerLanguage(name, define)
  return name
}

interface Piece {
  readonly text: string
  readonly scope: string
}

function lastLine(pieces: readonly Piece[]): readonly Piece[] {
  const line: Piece[] = []
  for (const piece of pieces.toReversed()) {
    const start = piece.text.lastIndexOf("\n") + 1
    line.unshift({ ...piece, text: piece.text.slice(start) })
    if (start > 0) break
  }
  return line
}

/** Collects the text with the innermost scope of each part. */
class ScopeEmitter implements Emitter {
  readonly pieces: Piece[] = []
  readonly #scopes: string[] = []

  startScope(name: string): void {
    this.#scopes.push(name)
  }

  endScope(): void {
    this.#scopes.pop()
  }

  // The library calls these two names as well.
  openNode(name: string): void {
    this.startScope(name)
  }

  closeNode(): void {
    this.endScope()
  }

  addText(text: string): void {
    if (text !== "") this.pieces.push({ text, scope: this.#scopes.at(-1) ?? "" })
  }

  __addSublanguage(emitter: Emitter): void {
    if (emitter instanceof ScopeEmitter) this.pieces.push(...emitter.pieces)
  }

  finalize(): void {
    this.#scopes.length = 0
  }

  toHTML(): string {
    return ""
  }
}

/** Scopes of the library (`title.function`) by their first part. */
const ROLES: Readonly<Record<string, ColorRole>> = {
  keyword: "ui_accent",
  operator: "ui_accent",
  "selector-tag": "ui_accent",
  name: "ui_accent",
  section: "banner_title",
  title: "banner_title",
  type: "banner_title",
  built_in: "banner_title",
  class: "banner_title",
  string: "ui_ok",
  regexp: "ui_ok",
  addition: "ui_ok",
  deletion: "ui_error",
  number: "banner_accent",
  literal: "banner_accent",
  symbol: "banner_accent",
  variable: "ui_label",
  attr: "ui_label",
  attribute: "ui_label",
  property: "ui_label",
  params: "ui_label",
  "selector-class": "ui_label",
  "selector-id": "ui_label",
  "template-variable": "ui_label",
  bullet: "banner_accent",
  link: "ui_label",
}
const DIM = new Set(["comment", "quote", "meta", "doctag"])

function paintOf(scope: string, theme: Theme, known: Map<string, Paint | undefined>): Paint | undefined {
  const [name = ""] = scope.split(".", 1)
  if (!known.has(name)) known.set(name, newPaint(name, theme))
  return known.get(name)
}

function newPaint(name: string, theme: Theme): Paint | undefined {
  if (DIM.has(name)) return (text) => theme.style("dim", text)
  const role = ROLES[name]
  return role === undefined ? undefined : (text) => theme.paint(role, text)
}
