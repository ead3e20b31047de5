import type { SearchableMessage } from "../../protocol/message-words.ts"
import type { AnchoredView, MessageRow } from "../../state/store.ts"
import type { PastSessions } from "../../toolkit/ports/sessions.ts"
import { messageFields } from "./message-fields.ts"

type Fields = Readonly<Record<string, unknown>>

/** A hit and the fields that describe it. */
export interface Hit {
  readonly row: Pick<SearchableMessage, "id" | "sessionId">
  readonly fields: Fields
}

/** The whole answer stays below about 6,000 tokens, whatever `limit` and `window` are. */
const ANSWER_CHARS = 24_000
const MATCH_CHARS = 1000
const BOOKEND_CHARS = 200

/** How much of the messages around a hit is shown. The first size that fits is used; when none does, the hit has only its snippet. */
const SIZES = [
  { context: 300, match: MATCH_CHARS, window: Number.POSITIVE_INFINITY, bookends: true },
  { context: 160, match: MATCH_CHARS, window: Number.POSITIVE_INFINITY, bookends: false },
  { context: 160, match: 400, window: 2, bookends: false },
  { context: 100, match: 200, window: 1, bookends: false },
]

/** Sessions whose beginning and end are shown. With more of them, the messages around the hits are worth more. */
const MAX_BOOKENDS = 3

/**
 * Adds to each hit the messages around it. A message that is shown with an earlier hit is not repeated, and a session shows its
 * beginning and end only once.
 */
export async function showHits(
  hits: readonly Hit[],
  store: PastSessions,
  options: { readonly window: number; readonly bookends: boolean },
): Promise<readonly Fields[]> {
  const shown = new Set<number>()
  const sessions = new Set<string>()
  const results: Fields[] = []
  let remaining = ANSWER_CHARS
  for (const [index, { row, fields }] of hits.entries()) {
    const withBookends = options.bookends && !sessions.has(row.sessionId) && sessions.size < MAX_BOOKENDS
    const view = await viewOf(row.id, store, { ...options, withBookends })
    const share = Math.max(0, remaining) / (hits.length - index)
    const extract = SIZES.values()
      .map((size) => extractOf(view, { ...options, anchor: row.id, shown, size }))
      .find((candidate) => JSON.stringify([fields, candidate.fields]).length <= share)
    const result = { ...fields, ...extract?.fields }
    for (const id of extract?.ids ?? []) shown.add(id)
    sessions.add(row.sessionId)
    remaining -= JSON.stringify(result).length
    results.push(result)
  }
  return results
}

/** Conversational messages around the anchor; the beginning and end of the session only where they are shown. */
async function viewOf(
  anchor: number,
  store: PastSessions,
  { window, withBookends }: { readonly window: number; readonly withBookends: boolean },
): Promise<AnchoredView> {
  if (withBookends) return await store.anchoredView(anchor, window)
  const around = await store.messagesAround(anchor, window)
  const messages = around.messages.filter(({ id, role }) => id === anchor || role === "user" || role === "assistant")
  return { ...around, messages, opening: [], closing: [] }
}

function extractOf(
  view: AnchoredView,
  options: {
    readonly anchor: number
    readonly shown: ReadonlySet<number>
    readonly bookends: boolean
    readonly size: (typeof SIZES)[number]
  },
): { readonly fields: Fields; readonly ids: readonly number[] } {
  const { anchor, shown, size } = options
  const index = view.messages.findIndex(({ id }) => id === anchor)
  const isNew = ({ id }: MessageRow): boolean => !shown.has(id)
  const messages = view.messages
    .slice(Math.max(0, index - size.window), index + size.window + 1)
    .filter((row) => isNew(row) && (row.text.trim() !== "" || row.id === anchor))
  const opening = size.bookends ? view.opening.filter(isNew) : []
  const closing = size.bookends ? view.closing.filter(isNew) : []
  return {
    ids: [...opening, ...messages, ...closing].map(({ id }) => id),
    fields: {
      ...(options.bookends && { bookend_start: opening.map((row) => messageFields(row, BOOKEND_CHARS)) }),
      messages: messages.map((row) => messageFields(row, row.id === anchor ? size.match : size.context)),
      ...(options.bookends && { bookend_end: closing.map((row) => messageFields(row, BOOKEND_CHARS)) }),
      messages_before: view.before,
      messages_after: view.after,
    },
  }
}
