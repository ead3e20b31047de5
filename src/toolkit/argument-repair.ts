import { parseJson } from "../base/json.ts"

/**
 * Repairs the arguments of a model to JSON text that always parses, because one unparsable call in the history makes every later
 * request fail. Text that cannot be repaired without inventing content becomes `{}`.
 */
export function repairArguments(raw: string): string {
  const text = raw.trim()
  if (text === "" || text === "None") return "{}"
  if (isJson(text)) return text
  const escaped = escapeControlCharacters(text)
  if (escaped !== text && isJson(escaped)) return JSON.stringify(parseJson(escaped))
  return repairStructure(text) ?? repairStructure(escaped) ?? "{}"
}

/** Models repeat a closing bracket when they lose count; more than this is noise. */
const MAX_SURPLUS_CLOSERS = 50

function repairStructure(text: string): string | undefined {
  const withoutCommas = removeTrailingCommas(text)
  if (isJson(withoutCommas)) return withoutCommas
  const closed = closeOpenStructures(withoutCommas)
  if (closed !== undefined) return isJson(closed) ? closed : undefined
  return dropSurplusClosers(withoutCommas)
}

function isJson(text: string): boolean {
  return parseJson(text) !== undefined
}

function removeTrailingCommas(text: string): string {
  let result = ""
  // A comma and the white space after it, until the next character decides whether it stays.
  let held = ""
  for (const { character, inString } of pieces(text)) {
    if (!inString && (character === "," || (held !== "" && /\s/u.test(character)))) {
      if (character === ",") result += held
      held = character === "," ? character : held + character
      continue
    }
    const closes = !inString && (character === "}" || character === "]")
    result += (closes ? held.slice(1) : held) + character
    held = ""
  }
  return result + held
}

/** Adds missing closing brackets; undefined when none is missing, a string is unterminated or the nesting is wrong. */
function closeOpenStructures(text: string): string | undefined {
  const closers: string[] = []
  let endsInString = false
  for (const { character, inString, opensString, closesString } of pieces(text)) {
    if (opensString) endsInString = true
    if (closesString) endsInString = false
    if (inString) continue
    if (character === "{") closers.push("}")
    if (character === "[") closers.push("]")
    if ((character === "}" || character === "]") && closers.pop() !== character) return undefined
  }
  if (endsInString || closers.length === 0) return undefined
  const end = text.trimEnd()
  return (end.endsWith(",") ? end.slice(0, -1) : end) + closers.toReversed().join("")
}

function dropSurplusClosers(text: string): string | undefined {
  let remaining = text
  for (let dropped = 0; dropped < MAX_SURPLUS_CLOSERS && /[}\]]$/u.test(remaining); dropped += 1) {
    remaining = remaining.slice(0, -1).trimEnd()
    if (isJson(remaining)) return remaining
  }
  return undefined
}

/** Escapes raw line ends and tabs inside strings, the most common mistake. */
function escapeControlCharacters(text: string): string {
  let result = ""
  for (const { character, inString } of pieces(text)) {
    result += inString && character < " " ? JSON.stringify(character).slice(1, -1) : character
  }
  return result
}

interface Piece {
  readonly character: string
  /** Also true for the quotes of a string. */
  readonly inString: boolean
  readonly opensString: boolean
  readonly closesString: boolean
}

function* pieces(text: string): Generator<Piece, void> {
  let inString = false
  let escaping = false
  for (const character of text) {
    const quote = character === '"' && !escaping
    yield {
      character,
      inString: inString || quote,
      opensString: quote && !inString,
      closesString: quote && inString,
    }
    if (quote) inString = !inString
    escaping = inString && character === "\\" && !escaping
  }
}
