import { setImmediate as nextTick } from "node:timers/promises"

import type { Clock } from "../../base/clock.ts"
import { epochSeconds } from "../../base/clock.ts"
import type { SessionId } from "../../protocol/identifiers.ts"
import type { Message } from "../../protocol/message.ts"
import { chunksOfEntry } from "./entry-chunks.ts"
import type { Lexicon } from "./lexicon.ts"
import type { IndexChunk, RecallIndex, SessionMark } from "./recall-index.ts"

/** Where sessions are read from; a `SessionStore` is one. */
export interface SessionSource {
  list(options: {
    readonly all: true
    readonly orderBy: "last-activity"
    readonly excludeSources: readonly string[]
    readonly limit: number
    readonly offset: number
  }): Promise<readonly SessionFacts[]>
  messages(id: SessionId): Promise<readonly SessionMessage[]>
}

interface SessionFacts {
  readonly id: SessionId
  readonly lastActivity: number
  readonly messageCount: number
}

interface SessionMessage {
  readonly id: number
  readonly message: Message | undefined
  readonly text: string
  readonly timestamp: number
}

export interface CatchUpOptions {
  /** How long it may take; what is left is done the next time. */
  readonly budgetMs: number
  readonly signal: AbortSignal
}

interface IndexingParts extends CatchUpOptions {
  readonly clock: Clock
  readonly lexicon: Lexicon
}

/** Under this name a message of a session is in the index. */
export function messageRef(sessionId: SessionId, messageId: number): string {
  return `${sessionId}#${messageId}`
}

export function parseMessageRef(ref: string): { readonly sessionId: string; readonly messageId: number } | undefined {
  const at = ref.lastIndexOf("#")
  const messageId = Number(ref.slice(at + 1))
  return at > 0 && Number.isInteger(messageId) ? { sessionId: ref.slice(0, at), messageId } : undefined
}

/** Sessions of other programs' making that nobody looks for. */
export const HIDDEN_SOURCES: readonly string[] = ["subagent", "tool"]

const PAGE = 100
const BATCH_CHUNKS = 40

/** Noted when everything was indexed once, so that later runs may stop at the first sessions that have not changed. */
const COMPLETE = "sessions_complete"
const LAST_SWEEP = "last_sweep"
const SWEEP_SECONDS = 86_400

/**
 * Brings the index up to date with what people and models said, newest sessions first. Once a day it goes through all sessions and
 * forgets those that are gone.
 */
export async function indexSessions(
  index: RecallIndex,
  source: SessionSource,
  parts: IndexingParts,
): Promise<{ readonly complete: boolean }> {
  const deadline = parts.clock.now() + parts.budgetMs
  let indexed = 0
  // One session is always done, so that any budget gets to the end some time.
  const isOver = (): boolean => parts.signal.aborted || (indexed > 0 && parts.clock.now() >= deadline)
  const wasComplete = (await index.note(COMPLETE)) === "yes"
  const lastSweep = Number((await index.note(LAST_SWEEP)) ?? 0)
  const sweeping = !wasComplete || epochSeconds(parts.clock) - lastSweep > SWEEP_SECONDS
  const present = new Set<SessionId>()
  for (let offset = 0; ; offset += PAGE) {
    const page = await source.list({
      all: true,
      orderBy: "last-activity",
      excludeSources: HIDDEN_SOURCES,
      limit: PAGE,
      offset,
    })
    const marks = await index.marks(page.map(({ id }) => id))
    const behind = page.filter((session) => !isUpToDate(session, marks.get(session.id)))
    for (const session of behind) {
      if (isOver()) {
        if (wasComplete) await index.setNote(COMPLETE, "no")
        return { complete: false }
      }
      await indexSession(session, { index, source, lexicon: parts.lexicon, mark: marks.get(session.id) })
      indexed += 1
      await nextTick()
    }
    for (const { id } of page) present.add(id)
    if (page.length < PAGE) break
    if (!sweeping && behind.length === 0) return { complete: true }
  }
  for (const id of await index.markedSessions()) if (!present.has(id)) await index.remove(id)
  await index.setNote(COMPLETE, "yes")
  await index.setNote(LAST_SWEEP, String(epochSeconds(parts.clock)))
  return { complete: true }
}

function isUpToDate(session: SessionFacts, mark: SessionMark | undefined): boolean {
  return mark?.lastActivity === session.lastActivity && mark.messageCount === session.messageCount
}

interface SessionParts {
  readonly index: RecallIndex
  readonly source: SessionSource
  readonly lexicon: Lexicon
  readonly mark: SessionMark | undefined
}

/** In small transactions, so that the thread is never busy for long; the last one says that the session is done. */
async function indexSession(session: SessionFacts, parts: SessionParts): Promise<void> {
  const { index, mark } = parts
  const rewritten = mark !== undefined && mark.messageCount > session.messageCount
  if (rewritten) await index.remove(session.id)
  const known = mark === undefined || rewritten ? 0 : mark.lastMessageId
  const rows = (await parts.source.messages(session.id)).filter(({ id }) => id > known)
  let chunks: IndexChunk[] = []
  for (const row of rows) {
    if (isSpoken(row.message)) {
      const ref = messageRef(session.id, row.id)
      const entry = { kind: "session", ref, text: row.text, createdAt: row.timestamp } as const
      chunks.push(...chunksOfEntry(entry, parts.lexicon))
    }
    if (chunks.length < BATCH_CHUNKS) continue
    await index.put(chunks, { sessionId: session.id, lastMessageId: row.id, lastActivity: -1, messageCount: 0 })
    chunks = []
    await nextTick()
  }
  await index.put(chunks, {
    sessionId: session.id,
    lastMessageId: rows.at(-1)?.id ?? known,
    lastActivity: session.lastActivity,
    messageCount: session.messageCount,
  })
}

/** What a person or the model said, not what Hermes wrote in their place after a compression. */
function isSpoken(message: Message | undefined): boolean {
  if (message?.role !== "user" && message?.role !== "assistant") return false
  return message.synthetic === undefined && message.compressed_summary !== true && message.content !== null
}
