import { setImmediate as nextTick } from "node:timers/promises"

import type { Clock } from "../../base/clock.ts"
import { epochSeconds } from "../../base/clock.ts"
import type { SessionId } from "../../protocol/identifiers.ts"
import type { Message } from "../../protocol/message.ts"
import { chunkEntry } from "./entry-chunks.ts"
import type { Lexicon } from "./lexicon.ts"
import type { TextChunk, SemanticIndex, IndexedSession } from "../../protocol/semantic-index.ts"

/** Reads sessions. A `SessionStore` satisfies it. */
export interface SessionSource {
  list(options: {
    readonly all: true
    readonly orderBy: "last-activity"
    readonly excludeSources: readonly string[]
    readonly limit: number
    readonly offset: number
  }): Promise<readonly SessionStatus[]>
  messages(id: SessionId): Promise<readonly SessionMessage[]>
}

interface SessionStatus {
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

export interface SyncOptions {
  /** Time limit. The next call continues with the remaining sessions. */
  readonly budgetMs: number
  readonly signal: AbortSignal
}

interface IndexingParts extends SyncOptions {
  readonly clock: Clock
  readonly lexicon: Lexicon
}

/** The ref of a message in the index. */
export function messageRef(sessionId: SessionId, messageId: number): string {
  return `${sessionId}#${messageId}`
}

export function parseMessageRef(ref: string): { readonly sessionId: string; readonly messageId: number } | undefined {
  const separator = ref.lastIndexOf("#")
  const messageId = Number(ref.slice(separator + 1))
  return separator > 0 && Number.isInteger(messageId) ? { sessionId: ref.slice(0, separator), messageId } : undefined
}

/** Sources whose sessions were started by the agent or by a program, not by the user; search leaves them out. */
export const HIDDEN_SOURCES: readonly string[] = ["subagent", "tool"]

const PAGE = 100
const BATCH_CHUNKS = 40

/** Set once everything is indexed, so that later runs may stop at the first page without changes. */
const COMPLETE_KEY = "sessions_complete"
const LAST_SWEEP_KEY = "last_sweep"
const SWEEP_SECONDS = 86_400

/**
 * Indexes new user and assistant messages, most recently used sessions first. Once a day it visits all sessions and removes deleted
 * ones from the index.
 */
export async function indexSessions(
  index: SemanticIndex,
  source: SessionSource,
  parts: IndexingParts,
): Promise<{ readonly complete: boolean }> {
  const deadline = parts.clock.now() + parts.budgetMs
  let indexed = 0
  // Indexes at least one session per call, so that even a tiny budget finishes eventually.
  const mustStop = (): boolean => parts.signal.aborted || (indexed > 0 && parts.clock.now() >= deadline)
  const wasComplete = (await index.metadata(COMPLETE_KEY)) === "yes"
  const lastSweep = Number((await index.metadata(LAST_SWEEP_KEY)) ?? 0)
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
    const indexedSessions = await index.indexedSessions(page.map(({ id }) => id))
    const outdated = page.filter((session) => !isUpToDate(session, indexedSessions.get(session.id)))
    for (const session of outdated) {
      if (mustStop()) {
        if (wasComplete) await index.setMetadata(COMPLETE_KEY, "no")
        return { complete: false }
      }
      await indexSession(session, { index, source, lexicon: parts.lexicon, previous: indexedSessions.get(session.id) })
      indexed += 1
      await nextTick()
    }
    for (const { id } of page) present.add(id)
    if (page.length < PAGE) break
    if (!sweeping && outdated.length === 0) return { complete: true }
  }
  for (const id of await index.indexedSessionIds()) if (!present.has(id)) await index.remove(id)
  await index.setMetadata(COMPLETE_KEY, "yes")
  await index.setMetadata(LAST_SWEEP_KEY, String(epochSeconds(parts.clock)))
  return { complete: true }
}

function isUpToDate(session: SessionStatus, indexed: IndexedSession | undefined): boolean {
  return indexed?.lastActivity === session.lastActivity && indexed.messageCount === session.messageCount
}

interface SessionParts {
  readonly index: SemanticIndex
  readonly source: SessionSource
  readonly lexicon: Lexicon
  readonly previous: IndexedSession | undefined
}

/** Writes in small transactions to keep the thread responsive. Only the last one marks the session as up to date. */
async function indexSession(session: SessionStatus, parts: SessionParts): Promise<void> {
  const { index, previous } = parts
  const rewritten = previous !== undefined && previous.messageCount > session.messageCount
  if (rewritten) await index.remove(session.id)
  const lastIndexed = previous === undefined || rewritten ? 0 : previous.lastMessageId
  const rows = (await parts.source.messages(session.id)).filter(({ id }) => id > lastIndexed)
  let chunks: TextChunk[] = []
  for (const row of rows) {
    if (isConversational(row.message)) {
      const ref = messageRef(session.id, row.id)
      const entry = { kind: "session", ref, text: row.text, createdAt: row.timestamp } as const
      chunks.push(...chunkEntry(entry, parts.lexicon))
    }
    if (chunks.length < BATCH_CHUNKS) continue
    await index.put(chunks, { sessionId: session.id, lastMessageId: row.id, lastActivity: -1, messageCount: 0 })
    chunks = []
    await nextTick()
  }
  await index.put(chunks, {
    sessionId: session.id,
    lastMessageId: rows.at(-1)?.id ?? lastIndexed,
    lastActivity: session.lastActivity,
    messageCount: session.messageCount,
  })
}

/** True for user and assistant messages, except those that Hermes generated, such as a compression summary. */
function isConversational(message: Message | undefined): boolean {
  if (message?.role !== "user" && message?.role !== "assistant") return false
  return message.synthetic === undefined && message.compressed_summary !== true && message.content !== null
}
