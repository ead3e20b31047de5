import { charCount, isLongerThan } from "../../base/char-count.ts"
import { isRecord, parseJson } from "../../base/json.ts"
import { takeCodePoints } from "../../base/text.ts"
import { DEFAULT_RESULT_BUDGET, isPersistedOutput } from "../../toolkit/result-budget.ts"
import { shortenArray, shortenRecord } from "./json-shortening.ts"

/** Where the full text of a result went; undefined when it could not be kept. */
export type Spill = (text: string, callId: string) => Promise<string | undefined>

const CHARS_PER_TOKEN = 4
const HEAD_SHARE = 0.7
const TAIL_SHARE = 0.2

/** No block in place of a result that was kept in a file is longer than this. */
const LONGEST_BLOCK = 20_000

/** Whether a result takes more than its share and can be cut. */
export function isOversized(text: string, limitTokens: number): boolean {
  if (!isLongerThan(text, limitTokens * CHARS_PER_TOKEN)) return false
  return text.length > LONGEST_BLOCK || !isPersistedOutput(text, DEFAULT_RESULT_BUDGET.previewChars)
}

/**
 * A result cut to its beginning and end, with a mark that says where all of it is. JSON stays JSON. A result that was cut before
 * is cut further and still names the file with all of it.
 */
export async function reduceResult(
  text: string,
  { limitTokens, callId, spill }: { readonly limitTokens: number; readonly callId: string; readonly spill: Spill },
): Promise<string> {
  const limit = limitTokens * CHARS_PER_TOKEN
  const earlier = earlierCut(text)
  const kept = earlier ?? { path: await spilled(text, callId, spill), chars: charCount(text) }
  const value = parseJson(text)
  const json = isRecord(value) || Array.isArray(value) ? cutJson(value, limit, kept) : undefined
  return json ?? cutText(text, limit, kept)
}

/** Whether the first layer has cut this result. */
export function isReduced(text: string): boolean {
  return earlierCut(text) !== undefined
}

async function spilled(text: string, callId: string, spill: Spill): Promise<string | undefined> {
  try {
    return await spill(text, callId)
  } catch {
    // The mark then says that the full text could not be saved; the stored message still has it.
    return undefined
  }
}

interface Kept {
  readonly path: string | undefined
  /** Of the whole result. */
  readonly chars: number
}

function mark(kept: Kept, shown: number): string {
  const where =
    kept.path === undefined
      ? "The full text could not be saved."
      : `All of it is in ${kept.path}; read parts with read_file, offset and limit.`
  return `[Shortened: about ${shown} of ${kept.chars} characters kept. ${where}]`
}

const MARK =
  /\[Shortened: about \d+ of (\d+) characters kept\. (?:All of it is in ([^\n"]+); read parts|The full text)/u

function earlierCut(text: string): Kept | undefined {
  const found = MARK.exec(text)
  return found === null ? undefined : { path: found[2], chars: Number(found[1]) }
}

function cutText(text: string, limit: number, kept: Kept): string {
  const plain = text.replace(WHOLE_MARK, "\n...\n")
  const note = mark(kept, Math.round(limit * (HEAD_SHARE + TAIL_SHARE)))
  const tailChars = Math.floor(limit * TAIL_SHARE)
  const headChars = Math.max(0, Math.min(Math.floor(limit * HEAD_SHARE), limit - tailChars - note.length - 2))
  return `${wholeLines(takeCodePoints(plain, headChars), headChars)}\n${note}\n${lastCodePoints(plain, tailChars)}`
}

const WHOLE_MARK = /\n\[Shortened: about \d+ of \d+ characters kept\. [^\n]*\]\n/u

/** Ends after a line where that costs less than half of it. */
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

function cutJson(value: Readonly<Record<string, unknown>> | unknown[], limit: number, kept: Kept): string | undefined {
  const note = mark(kept, Math.round(limit * (HEAD_SHARE + TAIL_SHARE)))
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
