import { setImmediate as nextTick } from "node:timers/promises"

import type { Clock } from "../../base/clock.ts"
import { epochSeconds } from "../../base/clock.ts"
import type { SessionId } from "../../protocol/identifiers.ts"
import type { MessageWords, SearchableMessage } from "../../protocol/message-words.ts"
import { promptsOfSearches } from "../message-search/asked-before.ts"
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
  readonly words: Pick<MessageWords, "idsOfSession" | "inScope">
}

interface SessionStatus {
  readonly id: SessionId
  readonly lastActivity: number
  readonly messageCount: number
}

export interface SyncOptions {
  /** Time limit. The next call continues with the remaining sessions. */
  readonly budgetMs: number
  readonly signal: AbortSignal
  /** Names the tool that searches: questions that made the model call it are not indexed. */
  readonly isSearchCall?: (toolName: string) => boolean
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
/** Messages per transaction. */
const BATCH = 40

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
  // Indexes at least one batch per call, so that even a tiny budget finishes eventually.
  const mustStop = (): boolean => parts.signal.aborted || (indexed > 0 && parts.clock.now() >= deadline)
  const countBatch = (): void => {
    indexed += 1
  }
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
      const previous = indexedSessions.get(session.id)
      await indexSession(session, { ...parts, index, source, previous, mustStop, countBatch })
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

interface SessionParts extends IndexingParts {
  readonly index: SemanticIndex
  readonly source: SessionSource
  readonly previous: IndexedSession | undefined
  readonly mustStop: () => boolean
  readonly countBatch: () => void
}

/**
 * Reads and writes in small batches to keep the thread responsive, and may stop after each: the last message that was indexed is
 * where the next run continues. Only the last batch marks the session as up to date.
 */
async function indexSession(session: SessionStatus, parts: SessionParts): Promise<void> {
  const { index, previous, source } = parts
  const rewritten = previous !== undefined && previous.messageCount > session.messageCount
  if (rewritten) await index.remove(session.id)
  const lastIndexed = previous === undefined || rewritten ? 0 : previous.lastMessageId
  const ids = (await source.words.idsOfSession(session.id)).filter((id) => id > lastIndexed)
  for (let start = 0; start < ids.length; start += BATCH) {
    const batch = ids.slice(start, start + BATCH)
    const rows = await source.words.inScope(batch, {})
    const prompts = new Set(promptsOfSearches(rows, parts.isSearchCall ?? (() => false)))
    const indexed = rows.filter((row) => isConversational(row) && !prompts.has(row.id))
    await index.put(
      indexed.flatMap((row) => messageChunks(row, parts.lexicon)),
      {
        sessionId: session.id,
        lastMessageId: batch.at(-1) ?? lastIndexed,
        lastActivity: UNFINISHED,
        messageCount: 0,
      },
    )
    parts.countBatch()
    await nextTick()
    if (start + BATCH < ids.length && parts.mustStop()) return
  }
  await index.put([], {
    sessionId: session.id,
    lastMessageId: ids.at(-1) ?? lastIndexed,
    lastActivity: session.lastActivity,
    messageCount: session.messageCount,
  })
  parts.countBatch()
}

/** No session has this activity, so the next run continues with it. */
const UNFINISHED = -1

function messageChunks(row: SearchableMessage, lexicon: Lexicon): readonly TextChunk[] {
  const ref = messageRef(row.sessionId, row.id)
  return chunkEntry({ kind: "session", ref, text: row.text, createdAt: row.timestamp }, lexicon)
}

/** True for user and assistant messages, except those that Hermes generated, such as a compression summary. */
function isConversational({ role, isGenerated, text }: SearchableMessage): boolean {
  return (role === "user" || role === "assistant") && !isGenerated && text !== ""
}
