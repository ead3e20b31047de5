import { isRecord } from "../../base/json.ts"

/** What a server says is wrong, at a place counted from zero in UTF-16 units. */
export interface Diagnostic {
  readonly severity: number
  readonly code: string
  readonly source: string
  readonly message: string
  readonly line: number
  readonly character: number
}

export type PositionEncoding = "utf-16" | "utf-8"

const ERROR = 1
/** A server may send any number; nobody reads more of them. */
const MAX_READ = 2000
const MAX_MESSAGE_CHARS = 2000

/** The diagnostics of one document as the server sent them; entries that are none are left out. */
export function readDiagnostics(
  items: unknown,
  document: { readonly text: string; readonly encoding: PositionEncoding },
): readonly Diagnostic[] {
  if (!Array.isArray(items)) return []
  const lines = document.encoding === "utf-8" ? document.text.split("\n") : []
  return items.slice(0, MAX_READ).flatMap((item: unknown) => {
    const start = isRecord(item) && isRecord(item["range"]) ? item["range"]["start"] : undefined
    if (!isRecord(item) || !isRecord(start)) return []
    const { line, character } = start
    const { message, severity, code, source } = item
    if (typeof line !== "number" || typeof character !== "number" || typeof message !== "string") return []
    return {
      // A diagnostic without a severity is for the client to judge; what is not said to be an error is none.
      severity: typeof severity === "number" ? severity : 0,
      code: typeof code === "string" || typeof code === "number" ? String(code) : "",
      source: typeof source === "string" ? source : "",
      message: message.slice(0, MAX_MESSAGE_CHARS),
      line,
      character: document.encoding === "utf-8" ? utf16Offset(lines[line] ?? "", character) : character,
    }
  })
}

function utf16Offset(line: string, bytes: number): number {
  return Buffer.from(line, "utf8").subarray(0, bytes).toString("utf8").length
}

export interface DiagnosedText {
  readonly text: string
  readonly diagnostics: readonly Diagnostic[]
}

/**
 * The errors that an edit brought: those whose words and place were not there before. Places below the edit are shifted by the lines
 * it added or took. Inside the part that was replaced places mean nothing, so there an error is the same one by its words alone.
 */
export function newErrors(before: DiagnosedText, after: DiagnosedText): readonly Diagnostic[] {
  const edit = changedLines(before.text, after.text)
  const kept = new Map<string, number>()
  const replaced = new Map<string, number>()
  for (const one of before.diagnostics) {
    if (one.severity !== ERROR) continue
    const line = edit.lineAfter(one.line)
    if (line === undefined) count(replaced, wordsOf(one))
    else count(kept, placedKey(one, line))
  }
  return after.diagnostics
    .filter(({ severity }) => severity === ERROR)
    .filter((one) => !take(kept, placedKey(one, one.line)))
    .filter((one) => !(edit.isReplaced(one.line) && take(replaced, wordsOf(one))))
    .toSorted((one, other) => one.line - other.line || one.character - other.character)
}

function wordsOf({ severity, code, source, message }: Diagnostic): string {
  return JSON.stringify([severity, code, source, message])
}

function placedKey(diagnostic: Diagnostic, line: number): string {
  return `${line}:${diagnostic.character} ${wordsOf(diagnostic)}`
}

function count(counts: Map<string, number>, key: string): void {
  counts.set(key, (counts.get(key) ?? 0) + 1)
}

function take(counts: Map<string, number>, key: string): boolean {
  const left = counts.get(key) ?? 0
  if (left > 0) counts.set(key, left - 1)
  return left > 0
}

/** What lies between the lines that both texts begin with and those that both end with. */
function changedLines(before: string, after: string) {
  const old = before.split(/\r?\n/u)
  const fresh = after.split(/\r?\n/u)
  const most = Math.min(old.length, fresh.length)
  let head = 0
  while (head < most && old[head] === fresh[head]) head += 1
  let tail = 0
  while (tail < most - head && old[old.length - 1 - tail] === fresh[fresh.length - 1 - tail]) tail += 1
  const oldEnd = old.length - tail
  const newEnd = fresh.length - tail
  return {
    /** Where a line of the old text is now; undefined for one that was replaced. */
    lineAfter: (line: number): number | undefined => {
      if (line < head) return line
      return line >= oldEnd ? line + newEnd - oldEnd : undefined
    },
    isReplaced: (line: number): boolean => line >= head && line < newEnd,
  }
}
