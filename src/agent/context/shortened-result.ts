import { charCount, isLongerThan } from "../../base/char-count.ts"
import { isRecord, parseJson } from "../../base/json.ts"
import { takeCodePoints } from "../../base/text.ts"
import { DEFAULT_RESULT_BUDGET, isPersistedOutput } from "../../toolkit/result-budget.ts"
import { shortenArray, shortenRecord } from "./json-shortening.ts"

/** Stores the full text of a result and returns its path; undefined when it could not be stored. */
export type Spill = (text: string, callId: string) => Promise<string | undefined>

const CHARS_PER_TOKEN = 4
const HEAD_SHARE = 0.7
const TAIL_SHARE = 0.2

/** Upper limit for the text that replaces a result stored in a file. */
const MAX_PERSISTED_BLOCK_CHARS = 20_000

/** Whether a result exceeds the limit and can be shortened. */
export function isOversized(text: string, limitTokens: number): boolean {
  if (!isLongerThan(text, limitTokens * CHARS_PER_TOKEN)) return false
  return text.length > MAX_PERSISTED_BLOCK_CHARS || !isPersistedOutput(text, DEFAULT_RESULT_BUDGET.previewChars)
}

/**
 * Shortens a result to its beginning and end, with a marker that names the file with the full text. JSON stays valid JSON. A result
 * that was shortened before keeps the file in its marker.
 */
export async function reduceResult(
  text: string,
  { limitTokens, callId, spill }: { readonly limitTokens: number; readonly callId: string; readonly spill: Spill },
): Promise<string> {
  const limit = limitTokens * CHARS_PER_TOKEN
  const earlier = earlierCut(text)
  const full = earlier ?? { path: await spilled(text, callId, spill), chars: charCount(text) }
  const value = parseJson(text)
  const json = isRecord(value) || Array.isArray(value) ? cutJson(value, limit, full) : undefined
  return json ?? cutText(text, limit, full)
}

/** Whether layer 1 has shortened this result. */
export function isReduced(text: string): boolean {
  return earlierCut(text) !== undefined
}

async function spilled(text: string, callId: string, spill: Spill): Promise<string | undefined> {
  try {
    return await spill(text, callId)
  } catch {
    // The marker then says that there is no file; the stored message still has the full text.
    return undefined
  }
}

interface FullText {
  readonly path: string | undefined
  /** Length of the full result. */
  readonly chars: number
}

function marker(full: FullText, shown: number): string {
  const where =
    full.path === undefined
      ? "The full text could not be saved."
      : `All of it is in ${full.path}; read parts with read_file, offset and limit.`
  return `[Shortened: about ${shown} of ${full.chars} characters kept. ${where}]`
}

const MARKER =
  /\[Shortened: about \d+ of (\d+) characters kept\. (?:All of it is in ([^\n"]+); read parts|The full text)/u

function earlierCut(text: string): FullText | undefined {
  const found = MARKER.exec(text)
  return found === null ? undefined : { path: found[2], chars: Number(found[1]) }
}

function cutText(text: string, limit: number, full: FullText): string {
  const plain = text.replace(MARKER_LINE, "\n...\n")
  const note = marker(full, Math.round(limit * (HEAD_SHARE + TAIL_SHARE)))
  const tailChars = Math.floor(limit * TAIL_SHARE)
  const headChars = Math.max(0, Math.min(Math.floor(limit * HEAD_SHARE), limit - tailChars - note.length - 2))
  return `${wholeLines(takeCodePoints(plain, headChars), headChars)}\n${note}\n${lastCodePoints(plain, tailChars)}`
}

const MARKER_LINE = /\n\[Shortened: about \d+ of \d+ characters kept\. [^\n]*\]\n/u

/** Cuts at the last line break, unless that would lose more than half. */
function wholeLines(head: string, chars: number): string {
  const newline = head.lastIndexOf("\n")
  return newline >= chars / 2 ? head.slice(0, newline) : head
}

function lastCodePoints(text: string, count: number): string {
  if (count <= 0) return ""
  const tail = text.slice(-count)
  const first = tail.charCodeAt(0)
  return first >= 0xdc_00 && first <= 0xdf_ff ? tail.slice(1) : tail
}

const NOTE_FIELD = "_shortened"

function cutJson(
  value: Readonly<Record<string, unknown>> | unknown[],
  limit: number,
  full: FullText,
): string | undefined {
  const note = marker(full, Math.round(limit * (HEAD_SHARE + TAIL_SHARE)))
  const room = limit - JSON.stringify(note).length - NOTE_FIELD.length - 8
  const fields = isRecord(value) ? Object.entries(value).filter(([name]) => name !== NOTE_FIELD) : undefined
  const items = Array.isArray(value) ? value.filter((item) => typeof item !== "string" || !isReduced(item)) : []
  const short =
    fields === undefined
      ? [...shortenArray(items, room), note]
      : { ...shortenRecord(Object.fromEntries(fields), room), [NOTE_FIELD]: note }
  const text = JSON.stringify(short)
  return isLongerThan(text, limit) ? undefined : text
}
