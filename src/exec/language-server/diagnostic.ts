import { isRecord } from "../../base/json.ts"

/** A diagnostic of a language server; line and character are zero-based, in UTF-16 code units. */
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
const MAX_DIAGNOSTICS = 2000
const MAX_MESSAGE_CHARS = 2000

/** Parses the diagnostics of one document; skips invalid entries. */
export function readDiagnostics(
  items: unknown,
  document: { readonly text: string; readonly encoding: PositionEncoding },
): readonly Diagnostic[] {
  if (!Array.isArray(items)) return []
  const lines = document.encoding === "utf-8" ? document.text.split("\n") : []
  return items.slice(0, MAX_DIAGNOSTICS).flatMap((item: unknown) => {
    const start = isRecord(item) && isRecord(item["range"]) ? item["range"]["start"] : undefined
    if (!isRecord(item) || !isRecord(start)) return []
    const { line, character } = start
    const { message, severity, code, source } = item
    if (typeof line !== "number" || typeof character !== "number" || typeof message !== "string") return []
    return {
      // The protocol leaves a missing severity to the client; Hermes does not treat it as an error.
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
 * Returns the errors that an edit introduced: those whose content and position did not exist before. Positions below the edit are
 * shifted by the lines that it added or removed. Inside the replaced lines only the content is compared.
 */
export function newErrors(before: DiagnosedText, after: DiagnosedText): readonly Diagnostic[] {
  const edit = changedLines(before.text, after.text)
  const kept = new Map<string, number>()
  const replaced = new Map<string, number>()
  for (const error of before.diagnostics) {
    if (error.severity !== ERROR) continue
    const line = edit.lineAfter(error.line)
    if (line === undefined) increment(replaced, contentKey(error))
    else increment(kept, positionKey(error, line))
  }
  return after.diagnostics
    .filter(({ severity }) => severity === ERROR)
    .filter((error) => !decrement(kept, positionKey(error, error.line)))
    .filter((error) => !(edit.isReplaced(error.line) && decrement(replaced, contentKey(error))))
    .toSorted((a, b) => a.line - b.line || a.character - b.character)
}

function contentKey({ severity, code, source, message }: Diagnostic): string {
  return JSON.stringify([severity, code, source, message])
}

function positionKey(diagnostic: Diagnostic, line: number): string {
  return `${line}:${diagnostic.character} ${contentKey(diagnostic)}`
}

function increment(counts: Map<string, number>, key: string): void {
  counts.set(key, (counts.get(key) ?? 0) + 1)
}

/** Returns false when the count is already zero. */
function decrement(counts: Map<string, number>, key: string): boolean {
  const count = counts.get(key) ?? 0
  if (count > 0) counts.set(key, count - 1)
  return count > 0
}

/** Finds the lines between the common prefix and the common suffix of both texts. */
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
    /** Returns the new number of an old line; undefined for a replaced one. */
    lineAfter: (line: number): number | undefined => {
      if (line < head) return line
      return line >= oldEnd ? line + newEnd - oldEnd : undefined
    },
    isReplaced: (line: number): boolean => line >= head && line < newEnd,
  }
}
