import { Marked } from "marked"
import { escapeHtml } from "./escape-html.ts"

/** A message as HTML: Markdown is rendered, HTML in it is shown as text, and nothing is loaded from the network. */
export function createMessageHtml(): (text: string) => string {
  const parser = new Marked({
    gfm: true,
    breaks: true,
    renderer: {
      html: ({ raw }) => escapeHtml(raw),
      image: ({ href, text }) => `[image: ${escapeHtml(text)}] (${escapeHtml(href)})`,
      link({ href, tokens }) {
        const inner = this.parser.parseInline(tokens)
        // Other schemes can run code.
        if (!/^(?:https?:|mailto:)/iu.test(href)) return `${inner} (${escapeHtml(href)})`
        return `<a href="${escapeHtml(href)}" rel="noopener noreferrer nofollow">${inner}</a>`
      },
      code: ({ text, lang }) =>
        lang === "diff" || lang === "patch" ? diffHtml(text) : `<pre><code>${escapeHtml(text)}</code></pre>\n`,
    },
  })
  return (text) => {
    if (isHostile(text)) return `<pre class="plain">${escapeHtml(text)}</pre>`
    return parser.parse(text, { async: false })
  }
}

/** A unified diff with coloured lines. */
export function diffHtml(diff: string): string {
  const lines = diff
    .replace(/\n$/u, "")
    .split("\n")
    .map((line) => `<span class="${lineClass(line)}">${escapeHtml(line) || " "}</span>`)
  return `<pre class="diff">${lines.join("\n")}</pre>\n`
}

function lineClass(line: string): string {
  if (line.startsWith("+++") || line.startsWith("---")) return "file"
  if (line.startsWith("+")) return "add"
  if (line.startsWith("-")) return "del"
  return line.startsWith("@@") ? "hunk" : "same"
}

const MAX_CHARS = 100_000
const MAX_LINE_CHARS = 5000
const NESTED = /^(?:\s*(?:>|[-*+]\s|\d{1,9}[.)]\s)){12}|^[ \t]{60}/mu

/** The parser takes quadratic time over deep nesting and long lines. */
function isHostile(text: string): boolean {
  return text.length > MAX_CHARS || NESTED.test(text) || text.split("\n").some((line) => line.length > MAX_LINE_CHARS)
}
