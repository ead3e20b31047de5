import { parseJson } from "../../base/json.ts"
import { fail, ok, type Result } from "../../base/result.ts"

/** Converts text from the command line to a value for the file. */
export function coerceValue(text: string): Result<unknown> {
  const word = text.toLowerCase()
  if (["true", "yes", "on"].includes(word)) return ok(true)
  if (["false", "no", "off"].includes(word)) return ok(false)
  if (word === "null") return ok(null)
  if (/^-?\d+$/.test(text)) return ok(exactInteger(text))
  if (/^-?(?:\d*\.\d+|\d+\.)$/.test(text)) return ok(Number(text))
  if (!/^[[{"]/.test(text)) return ok(text)
  const parsed = parseJson(text)
  if (parsed !== undefined) return ok(parsed)
  return fail(`the value looks like JSON but is not valid; check its brackets and quotes, or put it in "…"`)
}

/** Ids of chat platforms exceed the exact range of JavaScript numbers, so they stay text. */
function exactInteger(text: string): number | string {
  const number = Number(text)
  return Number.isSafeInteger(number) ? number : text
}
