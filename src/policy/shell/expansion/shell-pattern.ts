/** A shell pattern as a regular expression, and how much work matching it may take. */
export interface ShellPattern {
  readonly expression: RegExp
  readonly stars: number
}

const LONGEST_PATTERN = 1000

const CHARACTER_CLASSES: Readonly<Record<string, string>> = {
  "[:alpha:]": "A-Za-z",
  "[:digit:]": "0-9",
  "[:alnum:]": "A-Za-z0-9",
  "[:upper:]": "A-Z",
  "[:lower:]": "a-z",
  "[:space:]": "\\s",
  "[:blank:]": " \\t",
  "[:punct:]": "!-\\/:-@\\[-`{-~",
  "[:xdigit:]": "0-9A-Fa-f",
}

export function quotePattern(text: string): string {
  return text.replaceAll(/[\\*?[\]]/gu, String.raw`\$&`)
}

/** Compiles a pattern in which quoted characters are escaped with a backslash. Undefined for patterns that are not supported. */
export function compilePattern(pattern: string): ShellPattern | undefined {
  if (pattern.length > LONGEST_PATTERN) return undefined
  let source = ""
  let stars = 0
  for (let at = 0; at < pattern.length; at += 1) {
    const character = pattern[at] ?? ""
    if (character === "\\") {
      at += 1
      source += escape(pattern[at] ?? "\\")
    } else if (character === "*") {
      if (!source.endsWith("[^]*")) {
        source += "[^]*"
        stars += 1
      }
    } else if (character === "?") source += "[^]"
    else if (character === "[") {
      const bracket = compileBracket(pattern, at)
      if (bracket === undefined) source += String.raw`\[`
      else {
        source += bracket.source
        at = bracket.end - 1
      }
    } else source += escape(character)
  }
  try {
    return { expression: new RegExp(`^(?:${source})$`, "u"), stars }
  } catch {
    // A range such as [z-a] has no equivalent.
    return undefined
  }
}

function compileBracket(pattern: string, open: number): { readonly source: string; readonly end: number } | undefined {
  let at = open + 1
  let source = "["
  if (pattern[at] === "!" || pattern[at] === "^") {
    source += "^"
    at += 1
  }
  for (let isFirst = true; at < pattern.length; isFirst = false) {
    const named = Object.entries(CHARACTER_CLASSES).find(([name]) => pattern.startsWith(name, at))
    if (named !== undefined) {
      source += named[1]
      at += named[0].length
      continue
    }
    const character = pattern[at] ?? ""
    if (character === "]" && !isFirst) return { source: `${source}]`, end: at + 1 }
    if (character === "\\") {
      at += 1
      source += escapeInBracket(pattern[at] ?? "\\")
    } else source += character === "-" ? "-" : escapeInBracket(character)
    at += 1
  }
  return undefined
}

function escape(character: string): string {
  return /[\\^$.*+?()[\]{}|/]/u.test(character) ? `\\${character}` : character
}

function escapeInBracket(character: string): string {
  return /[\\^[\]-]/u.test(character) ? `\\${character}` : character
}

/** Undefined when matching could take too long. */
export function matches(pattern: ShellPattern, text: string): boolean | undefined {
  return isCheap(pattern, text.length) ? pattern.expression.test(text) : undefined
}

export function isCheap({ stars }: ShellPattern, length: number): boolean {
  return (length + 1) ** Math.max(stars, 1) <= 200_000
}
