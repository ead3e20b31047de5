/** The readable text of an HTML page. It is not a parser: what it cannot tell apart stays in the text. */
export function htmlText(html: string): string {
  const title = /<title\b[^>]*>([^<]{1,500})/iu.exec(html)?.[1] ?? ""
  const body = html
    .replaceAll(/<!--[^]*?(?:-->|$)/gu, "")
    .replaceAll(/<(script|style|noscript|template|svg|head)\b[^>]*>[^]*?(?:<\/\1\s*>|$)/giu, "")
    .replaceAll(/<li\b[^>]*>/giu, "\n- ")
    .replaceAll(/<h([1-6])\b[^>]*>/giu, (_tag, level: string) => `\n\n${"#".repeat(Number(level))} `)
    .replaceAll(/<(?:br|hr)\b[^>]*>/giu, "\n")
    .replaceAll(
      /<\/?(?:p|div|section|article|header|footer|main|table|tr|ul|ol|pre|blockquote|h[1-6])\b[^>]*>/giu,
      "\n",
    )
    .replaceAll(/<[a-z!/?][^>]*>/giu, "")
  const text = decoded(body)
    .replaceAll(/[ \t\f\r\u00A0]+/gu, " ")
    .replaceAll(/ ?\n ?/gu, "\n")
    .replaceAll(/\n{3,}/gu, "\n\n")
    .trim()
  return title.trim() === "" ? text : `# ${decoded(title).trim()}\n\n${text}`
}

const NAMED: Readonly<Record<string, string>> = {
  amp: "&",
  lt: "<",
  gt: ">",
  quot: '"',
  apos: "'",
  nbsp: " ",
  mdash: "—",
  ndash: "–",
  hellip: "…",
  copy: "©",
}

function decoded(text: string): string {
  return text.replaceAll(/&(?:#(\d{1,7})|#x([0-9a-f]{1,6})|([a-z]{2,8}));/giu, (whole, decimal, hex, name) => {
    if (typeof name === "string") return NAMED[name.toLowerCase()] ?? whole
    const code = typeof decimal === "string" ? Number(decimal) : Number.parseInt(String(hex), 16)
    return code > 31 && code <= 0x10_ff_ff && !(code >= 0xd8_00 && code <= 0xdf_ff) ? String.fromCodePoint(code) : whole
  })
}
