import { parse } from "unbash"
import type { ParsedScript } from "unbash"

/** Braces in one word beyond which parsing takes quadratic time. */
const MOST_BRACES = 500

/** Parses a command line. A text that would take too long counts as one that cannot be parsed. */
export function parseShell(text: string): ParsedScript {
  if (hasTooManyBraces(text)) return unparsed(text, "too many braces")
  try {
    return parse(text)
  } catch (error) {
    if (isStackOverflow(error)) return unparsed(text, "it is nested too deeply")
    throw error
  }
}

/** The parser limits most kinds of nesting itself, but not functions inside functions. */
export function isStackOverflow(error: unknown): boolean {
  return error instanceof RangeError
}

function unparsed(text: string, message: string): ParsedScript {
  return { type: "Script", pos: 0, end: text.length, shebang: undefined, commands: [], errors: [{ message, pos: 0 }] }
}

function hasTooManyBraces(text: string): boolean {
  return countsTooMany(text) && countsTooMany(withoutDocuments(text))
}

/** In a word in which there are braces, each of them costs as much as the word is long. */
const MOST_DOCUMENT_WORK = 50_000_000

/**
 * The shell expands no braces in here-documents. A text that only looks like one, for example in quotes, is left out too, but only as long as it cannot
 * take much time.
 */
function withoutDocuments(text: string): string {
  const parts: string[] = []
  let work = 0
  let at = 0
  for (;;) {
    HERE_DOCUMENT.lastIndex = at
    const delimiter = HERE_DOCUMENT.exec(text)?.[1]
    const start = delimiter === undefined ? -1 : text.indexOf("\n", HERE_DOCUMENT.lastIndex)
    const end = delimiter === undefined || start === -1 ? -1 : documentEnd(text, start, delimiter)
    if (end === -1) break
    const body = text.slice(start, end)
    work += (body.split("{").length - 1) * body.length
    if (work > MOST_DOCUMENT_WORK) break
    parts.push(text.slice(at, start))
    at = end
  }
  return [...parts, text.slice(at)].join("")
}

const HERE_DOCUMENT = /(?<!<)<<(?!<)-?[ \t]*['"\\]?([\w.-]+)/gu

/** Where the line begins that consists of the delimiter. */
function documentEnd(text: string, from: number, delimiter: string): number {
  for (let start = from; start !== -1; start = text.indexOf("\n", start + 1)) {
    let name = start + 1
    while (text[name] === "\t") name += 1
    const end = name + delimiter.length
    if (text.startsWith(delimiter, name) && (end === text.length || text[end] === "\n")) return start
  }
  return -1
}

function countsTooMany(text: string): boolean {
  let count = 0
  for (let at = text.indexOf("{"); at !== -1; at = text.indexOf("{", at + 1)) {
    const before = text[at - 1]
    count = before === " " || before === "\n" || before === "\t" || before === ";" ? 1 : count + 1
    if (count > MOST_BRACES) return true
  }
  return false
}
