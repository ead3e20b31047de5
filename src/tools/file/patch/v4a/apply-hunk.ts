import { fail, ok, type Result } from "../../../../base/result.ts"
import { editableText } from "../../text/editable-text.ts"
import type { EditableText } from "../../text/editable-text.ts"
import type { Edit, TextRegion } from "../../text/text-edit.ts"
import { skippedStrategiesNote } from "../fuzzy/find-text.ts"
import type { FoundText } from "../fuzzy/find-text.ts"
import { fitReplacement } from "../fuzzy/fit-replacement.ts"
import { findLines } from "./find-lines.ts"
import { findHint } from "./hint-scope.ts"
import type { Hunk, HunkLine } from "./parse-hunks.ts"

/** How far from the hint's line a change may be when the hunk matches several times. */
const HINT_CHARS_BEFORE = 500
const HINT_CHARS_AFTER = 2000

export interface AppliedHunk {
  readonly text: string
  /** Where the change ends in the new text with LF line endings. */
  readonly end: number
}

/** Whether a hunk has only context. Models write such hunks to name a scope. */
export function changesNothing({ lines }: Hunk): boolean {
  return lines.every(({ kind }) => kind === "context")
}

/** Applies one hunk to the text of a file. `after` is the end of the previous hunk. */
export function applyHunk(raw: string, hunk: Hunk, after = 0): Result<AppliedHunk> {
  if (changesNothing(hunk)) return fail("it adds and removes nothing")
  const file = editableText(raw)
  const edit = findEdit(file, hunk, after)
  if (!edit.ok) return edit
  const { start, text } = edit.value
  return ok({ text: file.edited([edit.value]), end: start + text.length })
}

function findEdit(file: EditableText, hunk: Hunk, after: number): Result<Edit> {
  const kept = hunk.lines.filter(({ kind }) => kind !== "added")
  const wanted = kept.map(({ text }) => text)
  const old = wanted.join("\n")
  if (old.trim() === "" && kept.every(({ kind }) => kind === "context")) return insertion(file.text, hunk, after)
  const found = findLines(file.text, wanted)
  if (found === undefined) return fail(`not found in the file: ${firstLine(old)}${skippedStrategiesNote(file.text)}`)
  const region = chooseRegion(file.text, found, { hunk, after })
  if (!region.ok) return region
  return replaceRegion(file, hunk.lines, { region: region.value, strategy: found.strategy, old })
}

/** Narrows several matches down by what the patch says about the position. Never picks one of several that fit equally. */
function chooseRegion(
  text: string,
  { regions }: FoundText,
  { hunk, after }: { readonly hunk: Hunk; readonly after: number },
): Result<TextRegion> {
  const { hints, atEndOfFile } = hunk
  const inOrder = (found: readonly TextRegion[]): TextRegion | undefined =>
    only(found) ?? (after === 0 ? undefined : only(found.filter(({ start }) => start >= after)))
  const last = atEndOfFile ? regions.filter(({ end }) => text.slice(end).trim() === "") : []
  const direct = only(regions) ?? only(last)
  if (direct !== undefined) return ok(direct)
  if (hints.length === 0) {
    const next = inOrder(regions)
    return next === undefined ? fail(`${regions.length} matches; name a line near the right one: @@ line @@`) : ok(next)
  }
  const hint = findHint(text, hints, after)
  if (!hint.ok) return fail(`${regions.length} matches, and ${hint.error}`)
  const { line, block } = hint.value
  const inBlock = regions.filter(({ start, end }) => start >= block.start && end <= block.end)
  const near = regions.filter(
    ({ start }) => start >= line.start - HINT_CHARS_BEFORE && start <= line.end + HINT_CHARS_AFTER,
  )
  const chosen = inOrder(inBlock) ?? (inBlock.length > 1 ? undefined : inOrder(near))
  if (chosen !== undefined) return ok(chosen)
  const named = hints.at(-1) ?? ""
  return fail(`${regions.length} matches, ${near.length} of them near the hint "${named}"; add context lines`)
}

function only(regions: readonly TextRegion[]): TextRegion | undefined {
  return regions.length === 1 ? regions[0] : undefined
}

/** A hunk with only added lines inserts them after the hint's line, or at the end of the file. */
function insertion(text: string, { hints, lines, isNumbered, atEndOfFile }: Hunk, after: number): Result<Edit> {
  const added = lines.flatMap(({ kind, text: line }) => (kind === "added" ? [line] : []))
  if (isNumbered && hints.length === 0 && !atEndOfFile && text !== "") {
    return fail("it has only added lines, and line numbers are not used; add the lines around the change")
  }
  if (hints.length === 0 || atEndOfFile) {
    const gap = text === "" || text.endsWith("\n") ? "" : "\n"
    return ok({ start: text.length, end: text.length, text: `${gap}${added.join("\n")}\n` })
  }
  const hint = findHint(text, hints, after)
  if (!hint.ok) return hint
  const { end } = hint.value.line
  return ok({ start: end, end, text: `\n${added.join("\n")}` })
}

interface Match {
  readonly region: TextRegion
  readonly strategy: FoundText["strategy"]
  readonly old: string
}

/** Keeps context lines as they are in the file, even where the patch differs in white space. */
function replaceRegion(file: EditableText, lines: readonly HunkLine[], { region, strategy, old }: Match): Result<Edit> {
  const text = file.text.slice(region.start, region.end)
  const present = lines.filter(({ kind }) => kind !== "removed").map((line) => line.text)
  const fitted = fitReplacement({
    strategy,
    region: text,
    stored: file.stored(region),
    old,
    replacement: present.join("\n"),
  })
  if (!fitted.ok) return fitted
  if (present.length === 0) return ok({ ...withLineEnd(file.text, region), text: "" })
  const fileLines = text.split("\n")
  const newLines = fitted.value.split("\n")
  const keptLines = lines.length - lines.filter(({ kind }) => kind === "added").length
  if (fileLines.length !== keptLines || newLines.length !== present.length) return ok({ ...region, text: fitted.value })
  return ok({ ...region, text: mergeLines(lines, fileLines, newLines).join("\n") })
}

function mergeLines(lines: readonly HunkLine[], fileLines: readonly string[], newLines: readonly string[]): string[] {
  const merged: string[] = []
  let fileAt = 0
  let newAt = 0
  for (const { kind } of lines) {
    if (kind === "context") merged.push(fileLines[fileAt] ?? "")
    if (kind === "added") merged.push(newLines[newAt] ?? "")
    if (kind !== "added") fileAt += 1
    if (kind !== "removed") newAt += 1
  }
  return merged
}

/** Includes the line ending, so that removed lines leave no empty line. */
function withLineEnd(text: string, { start, end }: TextRegion): TextRegion {
  if (end < text.length) return { start, end: end + 1 }
  return { start: Math.max(0, start - 1), end }
}

const MAX_SHOWN_CHARS = 80

function firstLine(old: string): string {
  const line = old.split("\n").find((text) => text.trim() !== "") ?? ""
  return JSON.stringify(line.trim().slice(0, MAX_SHOWN_CHARS))
}
