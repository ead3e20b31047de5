import { parseJson } from "../../base/json.ts"

/**
 * Decodes JSON5 as people write it in settings: comments, trailing commas, keys without quotes, text in single quotes. Returns undefined
 * for anything else.
 */
export function parseJson5(text: string): unknown {
  const strict = parseJson(text)
  if (strict !== undefined) return strict
  const tokens = tokensOf(text.replace(/^\uFEFF/u, ""))
  if (tokens === undefined) return undefined
  return parseJson(
    tokens
      .map((token, index) => {
        const next = tokens[index + 1]
        if (token === "," && (next === "}" || next === "]") && !isOpening(tokens[index - 1])) return ""
        return next === ":" && NAME.test(token) ? JSON.stringify(token) : token
      })
      .join(""),
  )
}

/** A comma after these separates nothing. */
function isOpening(token: string | undefined): boolean {
  return token === undefined || token === "," || token === "{" || token === "["
}

const NAME = /^[\p{ID_Start}$_][\p{ID_Continue}$]*$/u

const TOKEN =
  /\s+|\/\/[^\n]*|\/\*[^]*?\*\/|([{}[\],:])|"((?:[^"\\\n]|\\[^])*)"|'((?:[^'\\\n]|\\[^])*)'|([^\s{}[\],:"'/]+)/uy

/** The tokens as JSON writes them, without comments and spaces. */
function tokensOf(text: string): readonly string[] | undefined {
  const tokens: string[] = []
  const expression = new RegExp(TOKEN.source, TOKEN.flags)
  while (expression.lastIndex < text.length) {
    const match = expression.exec(text)
    if (match === null) return undefined
    const [, mark, double, single, word] = match
    const quoted = double ?? single
    if (mark !== undefined) tokens.push(mark)
    else if (quoted !== undefined) tokens.push(JSON.stringify(unescaped(quoted)))
    else if (word !== undefined) tokens.push(asNumber(word))
  }
  return tokens
}

/** `+1`, `.5`, `5.` and `0x1F` are numbers of JSON5 only. */
function asNumber(word: string): string {
  if (!/^[+-]?(?:\.\d|\d)/u.test(word)) return word
  const value = Number(word)
  return Number.isFinite(value) ? String(value) : word
}

const ESCAPES: Readonly<Record<string, string>> = { n: "\n", r: "\r", t: "\t", b: "\b", f: "\f", v: "\v", 0: "\0" }

function unescaped(text: string): string {
  return text.replaceAll(/\\(?:u([0-9A-Fa-f]{4})|x([0-9A-Fa-f]{2})|(\r\n|[^]))/gu, (_whole, long, short, other) => {
    const code: unknown = long ?? short
    if (typeof code === "string") return String.fromCharCode(Number.parseInt(code, 16))
    const char = String(other)
    return /^[\r\n]/u.test(char) ? "" : (ESCAPES[char] ?? char)
  })
}
