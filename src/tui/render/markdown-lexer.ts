import { Marked } from "marked"
import type { Token, TokenizerExtension } from "marked"

/** Splits Markdown into tokens. The caller bounds the text. */
export interface MarkdownLexer {
  blocks(text: string): readonly Token[]
  /** A text that is known to be part of a paragraph. */
  inline(text: string): readonly Token[]
}

export function createMarkdownLexer(): MarkdownLexer {
  // Models write line breaks where they want them.
  const parser = new Marked({ gfm: true, breaks: true, extensions: [MATH] })
  return {
    blocks: (text) => parser.lexer(text),
    inline: (text) => new parser.Lexer(parser.defaults).inlineTokens(text),
  }
}

/** Formulas are shown as they were written: Markdown would remove their backslashes and underscores. */
const MATH: TokenizerExtension = {
  name: "math",
  level: "inline",
  start: (text) => text.search(/\$|\\[([]/u),
  tokenizer: (text) => {
    const raw = FORMULA.exec(text)?.[0]
    return raw === undefined ? undefined : { type: "math", raw, text: raw }
  },
}

const FORMULA =
  /^(?:\$\$[^$\n]{1,500}\$\$|\$(?![\s\d])[^$\n]{0,200}?[^\s$\\]\$(?!\d)|\\\([^\n]{1,500}?\\\)|\\\[[^\n]{1,500}?\\\])/u
