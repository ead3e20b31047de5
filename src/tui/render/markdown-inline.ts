import type { Token } from "marked"
import { plainText } from "../../terminal/printable-text.ts"
import type { Theme } from "../theme/theme.ts"
import { span } from "./spans.ts"
import type { Paint, Span } from "./spans.ts"

/** The styles of inline Markdown. Without colours its marks stay in the text, so that no meaning is lost. */
export interface InlineStyles {
  readonly theme: Theme
  readonly paint?: Paint | undefined
}

export function inlineSpans(tokens: readonly Token[], styles: InlineStyles): readonly Span[] {
  return tokens.flatMap((token) => tokenSpans(token, styles))
}

function tokenSpans(token: Token, styles: InlineStyles): readonly Span[] {
  const { theme, paint } = styles
  switch (token.type) {
    case "strong":
      return marked(
        token,
        "**",
        nested(styles, (text) => theme.style("bold", text)),
      )
    case "em":
      return marked(
        token,
        "*",
        nested(styles, (text) => theme.style("italic", text)),
      )
    case "del":
      return marked(
        token,
        "~~",
        nested(styles, (text) => theme.style("strikethrough", text)),
      )
    case "codespan": {
      const code = nested(styles, (text) => theme.paint("ui_accent", text))
      const text = printable(stringOf(token, "text"))
      return [span(theme.color ? text : `\`${text}\``, code.paint)]
    }
    case "br":
      return [span("\n")]
    case "link":
      return linkSpans(token, styles)
    case "image":
      return imageSpans(token, styles)
    case "html":
    case "math":
      return [span(printable(token.raw), paint)]
    case "checkbox":
      return []
    case "escape":
      return [span(printable(stringOf(token, "text")), paint)]
    default: {
      const inner = innerTokens(token)
      if (inner !== undefined) return inlineSpans(inner, styles)
      return [span(printable(decodeEntities(stringOf(token, "text") || token.raw)), paint)]
    }
  }
}

function marked(token: Token, mark: string, styles: InlineStyles): readonly Span[] {
  const inner = inlineSpans(innerTokens(token) ?? [], styles)
  return styles.theme.color ? inner : [span(mark), ...inner, span(mark)]
}

/** The text, then the target if the text does not show it. Links of the terminal are never created from text of a model. */
function linkSpans(token: Token, styles: InlineStyles): readonly Span[] {
  const { theme } = styles
  const inner = inlineSpans(
    innerTokens(token) ?? [],
    nested(styles, (text) => theme.style("underline", text)),
  )
  const target = targetOf(token)
  const shown = inner.map(({ text }) => text).join("")
  return isSameTarget(shown, target) ? inner : [...inner, dimmed(` (${target})`, styles)]
}

function imageSpans(token: Token, styles: InlineStyles): readonly Span[] {
  const alt = printable(stringOf(token, "text"))
  return [span(alt === "" ? "[image]" : `[image: ${alt}]`, styles.paint), dimmed(` (${targetOf(token)})`, styles)]
}

function targetOf(token: Token): string {
  const title = printable(stringOf(token, "title"))
  return printable(stringOf(token, "href")) + (title === "" ? "" : ` "${title}"`)
}

function isSameTarget(shown: string, target: string): boolean {
  const bare = (text: string): string => text.replace(/^(?:mailto:|https?:\/\/)/u, "").replace(/\/$/u, "")
  return bare(shown) === bare(target)
}

function dimmed(text: string, { theme, paint }: InlineStyles): Span {
  return span(
    text,
    composed((inner) => theme.style("dim", inner), paint),
  )
}

function nested(styles: InlineStyles, paint: Paint): InlineStyles {
  return { theme: styles.theme, paint: composed(paint, styles.paint) }
}

function composed(inner: Paint, outer: Paint | undefined): Paint {
  return outer === undefined ? inner : (text) => outer(inner(text))
}

/** Entities may stand for control characters, so text is made printable after they are decoded. */
function printable(text: string): string {
  return plainText(text).replaceAll("\t", "    ")
}

function decodeEntities(text: string): string {
  if (!text.includes("&")) return text
  return text.replaceAll(ENTITY, (whole, name: string) => {
    if (!name.startsWith("#")) return ENTITIES[name] ?? whole
    const code = /^#x/iu.test(name) ? Number.parseInt(name.slice(2), 16) : Number.parseInt(name.slice(1), 10)
    return code > 0 && code <= 0x10_ff_ff && !(code >= 0xd8_00 && code <= 0xdf_ff) ? String.fromCodePoint(code) : whole
  })
}

const ENTITY = /&(#x[\da-f]{1,6}|#\d{1,7}|amp|lt|gt|quot|apos|nbsp|copy|hellip|mdash|ndash|rarr|larr|times);/giu
const ENTITIES: Readonly<Record<string, string>> = {
  amp: "&",
  lt: "<",
  gt: ">",
  quot: '"',
  apos: "'",
  nbsp: " ",
  copy: "©",
  hellip: "…",
  mdash: "—",
  ndash: "–",
  rarr: "→",
  larr: "←",
  times: "×",
}

/** The library's tokens also have a member for tokens of extensions, whose fields have any type. */
export function innerTokens(token: Token): readonly Token[] | undefined {
  return "tokens" in token && Array.isArray(token.tokens) ? token.tokens : undefined
}

export function stringOf(token: Token, field: string): string {
  const value: unknown = Object.entries(token).find(([name]) => name === field)?.[1]
  return typeof value === "string" ? value : ""
}
