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
  let count = 0
  for (let at = text.indexOf("{"); at !== -1; at = text.indexOf("{", at + 1)) {
    const before = text[at - 1]
    count = before === " " || before === "\n" || before === "\t" || before === ";" ? 1 : count + 1
    if (count > MOST_BRACES) return true
  }
  return false
}
