import { fail, ok, type Result } from "../../../../base/result.ts"
import { editableText, verbatimText } from "../../text/editable-text.ts"
import type { EditableText } from "../../text/editable-text.ts"
import type { Edit } from "../../text/text-edit.ts"
import { isMostlyCrlf } from "../../text/text-encoding.ts"
import { findText, skippedStrategiesNote } from "./find-text.ts"
import { fitReplacement } from "./fit-replacement.ts"
import type { StrategyName } from "./strategies.ts"

export interface TextReplacement {
  readonly old: string
  readonly replacement: string
  readonly all: boolean
}

export interface ReplacedText {
  readonly text: string
  readonly strategy: StrategyName
  readonly count: number
}

export type ReplaceProblem =
  | { readonly kind: "bad-request" | "ambiguous" | "escape-drift"; readonly message: string }
  | { readonly kind: "no-match"; readonly message: string }

/** Replaces a text in a file. Tolerates small differences in the old text, but requires an unambiguous match. */
export function replaceText(raw: string, request: TextReplacement): Result<ReplacedText, ReplaceProblem> {
  if (request.old === "") return fail({ kind: "bad-request", message: "old_string cannot be empty" })
  if (request.old === request.replacement) {
    return fail({ kind: "bad-request", message: "old_string and new_string are identical" })
  }
  const file = openForRequest(raw, request)
  const inCrlfFile = file.text !== raw
  const old = inCrlfFile ? request.old.replaceAll("\r\n", "\n") : request.old
  const found = findText(file.text, old, { strategies: request.all ? "without-similarity" : "all" })
  if (found === undefined)
    return fail({
      kind: "no-match",
      message: `old_string was not found in the file${skippedStrategiesNote(file.text)}`,
    })
  const { strategy, regions } = found
  if (regions.length > 1 && !request.all) {
    return fail({
      kind: "ambiguous",
      message:
        `old_string has ${regions.length} matches (${linesOf(file.text, regions)}); ` +
        "add lines around it that make it unique, or set replace_all",
    })
  }
  const edits: Edit[] = []
  for (const region of regions) {
    const fitted = fitReplacement({
      strategy,
      region: file.text.slice(region.start, region.end),
      stored: file.stored(region),
      old,
      replacement: inCrlfFile ? request.replacement.replaceAll("\r\n", "\n") : request.replacement,
    })
    if (!fitted.ok) return fail({ kind: "escape-drift", message: fitted.error })
    edits.push({ ...region, text: fitted.value })
  }
  return ok({ text: file.edited(edits), strategy, count: edits.length })
}

/** A request with CRs of its own may be about the line endings, unless the whole file has CRLF. */
function openForRequest(raw: string, { old, replacement }: TextReplacement): EditableText {
  const namesReturns = old.includes("\r") || replacement.includes("\r")
  return namesReturns && !isMostlyCrlf(raw) ? verbatimText(raw) : editableText(raw)
}

const MAX_SHOWN_LINES = 5

function linesOf(text: string, regions: readonly { readonly start: number }[]): string {
  const numbers: number[] = []
  let [line, at] = [1, 0]
  for (const { start } of regions.slice(0, MAX_SHOWN_LINES)) {
    for (let feed = text.indexOf("\n", at); feed !== -1 && feed < start; feed = text.indexOf("\n", at)) {
      line += 1
      at = feed + 1
    }
    numbers.push(line)
  }
  return `${numbers.length === 1 ? "line" : "lines"} ${numbers.join(", ")}${regions.length > MAX_SHOWN_LINES ? ", …" : ""}`
}
