import { fail, ok, type Result } from "../../../../base/result.ts"
import { editableText } from "../../text/editable-text.ts"
import type { Edit, EditableText, TextRegion } from "../../text/editable-text.ts"
import { findText } from "../fuzzy/find-text.ts"
import type { FoundText } from "../fuzzy/find-text.ts"
import { fitReplacement } from "../fuzzy/fit-replacement.ts"
import { textLines } from "../fuzzy/text-lines.ts"
import type { Hunk, HunkLine } from "./parse-patch.ts"

/** How far from the hint's line a change may be when the hunk matches several times. */
const HINT_CHARS_BEFORE = 500
const HINT_CHARS_AFTER = 2000

/** Applies one hunk to the text of a file. */
export function applyHunk(raw: string, hunk: Hunk): Result<string> {
  if (hunk.lines.every(({ kind }) => kind === "context")) return fail("it adds and removes nothing")
  const file = editableText(raw)
  const edit = findEdit(file, hunk)
  return edit.ok ? ok(file.edited([edit.value])) : edit
}

function findEdit(file: EditableText, hunk: Hunk): Result<Edit> {
  const kept = hunk.lines.filter(({ kind }) => kind !== "added")
  const old = kept.map(({ text }) => text).join("\n")
  if (old.trim() === "" && kept.every(({ kind }) => kind === "context")) return insertion(file.text, hunk)
  const found = wholeLines(file.text, old) ?? findText(file.text, old, { strategies: "all" })
  if (found === undefined) return fail(`not found in the file: ${firstLine(old)}`)
  const region = chooseRegion(file.text, found, hunk.hint)
  if (!region.ok) return region
  return replaceRegion(file, hunk.lines, { region: region.value, strategy: found.strategy, old })
}

/** Exact matches of whole lines: `x = 1` must not match the start of `x = 10`. */
function wholeLines(text: string, old: string): FoundText | undefined {
  const regions: TextRegion[] = []
  for (let at = text.indexOf(old); at !== -1; at = text.indexOf(old, at + 1)) {
    const region = { start: at, end: at + old.length }
    if (at >= (regions.at(-1)?.end ?? 0) && coversLines(text, region)) regions.push(region)
  }
  return regions.length === 0 ? undefined : { strategy: "exact", regions }
}

function coversLines(text: string, { start, end }: TextRegion): boolean {
  return (start === 0 || text[start - 1] === "\n") && (end === text.length || text[end] === "\n")
}

function chooseRegion(text: string, { regions }: FoundText, hint: string): Result<TextRegion> {
  const [first] = regions
  if (first !== undefined && regions.length === 1) return ok(first)
  if (hint === "") return fail(`${regions.length} matches; name a line near the right one: @@ line @@`)
  const at = hintPosition(text, hint)
  if (!at.ok) return fail(`${regions.length} matches, and ${at.error}`)
  const near = regions.filter(
    ({ start }) => start >= at.value.start - HINT_CHARS_BEFORE && start <= at.value.end + HINT_CHARS_AFTER,
  )
  const [only] = near
  if (only !== undefined && near.length === 1) return ok(only)
  return fail(`${regions.length} matches, ${near.length} of them near the hint "${hint}"; add context lines`)
}

/** The only line with the hint; a line that equals the hint takes precedence over lines that contain it. */
function hintPosition(text: string, hint: string): Result<TextRegion> {
  const { lines, starts } = textLines(text)
  const lineRegion = (index: number): TextRegion => {
    const start = starts[index] ?? 0
    return { start, end: start + (lines[index] ?? "").length }
  }
  for (const fits of [(line: string) => line.trim() === hint, (line: string) => line.includes(hint)]) {
    const found = lines.flatMap((line, index) => (fits(line) ? [index] : []))
    const [only] = found
    if (only !== undefined && found.length === 1) return ok(lineRegion(only))
    if (found.length > 1) return fail(`the hint "${hint}" is ambiguous: it is on ${found.length} lines`)
  }
  return fail(`the hint "${hint}" is not in the file`)
}

/** A hunk with only added lines inserts them after the hint's line, or at the end of the file. */
function insertion(text: string, { hint, lines }: Hunk): Result<Edit> {
  const added = lines.flatMap(({ kind, text: line }) => (kind === "added" ? [line] : []))
  if (hint === "") {
    const gap = text === "" || text.endsWith("\n") ? "" : "\n"
    return ok({ start: text.length, end: text.length, text: `${gap}${added.join("\n")}\n` })
  }
  const at = hintPosition(text, hint)
  return at.ok ? ok({ start: at.value.end, end: at.value.end, text: `\n${added.join("\n")}` }) : at
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
  if (!coversLines(file.text, region)) return ok({ ...region, text: fitted.value })
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
