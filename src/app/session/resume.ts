import type { Logger } from "../../base/logger.ts"
import { fail, ok } from "../../base/result.ts"
import type { Result } from "../../base/result.ts"
import { errorMessage } from "../../base/system-error.ts"
import { repairStoredHistory, resultsForUnsettledCalls } from "../../agent/history-repair.ts"
import { toSentForm } from "../../agent/sent-form.ts"
import type { Home } from "../../config/home.ts"
import type { SessionId } from "../../protocol/identifiers.ts"
import type { Message } from "../../protocol/message.ts"
import { addUsd } from "../../llm/catalog/cost.ts"
import { NO_USAGE, addUsage } from "../../protocol/usage.ts"
import type { Usage } from "../../protocol/usage.ts"
import { StoreError } from "../../state/store.ts"
import type { KnownState, SessionRevision, SessionRow, SessionStore } from "../../state/store.ts"
import { conversationRows } from "../services/conversation-rows.ts"
import { findOtherProcess } from "./open-session-marker.ts"
import { readPartialReply, removePartialReplies } from "./partial-reply-file.ts"
import { DECLARED_TOOLS, ownPrompt } from "./stored-prompt.ts"

/** What a resumed session starts with. */
export interface ResumedSession extends KnownState {
  /** Each message in the form in which it is sent, with its row id. */
  readonly messages: ReadonlyMap<Message, number>
  /** The stored prompt; undefined when this edition has not written it. */
  readonly system: string | undefined
  /** The directory of the conversation so far; null when it is unknown. */
  readonly cwd: string | null
  /** Of the whole conversation, including the sessions that compressions have ended. */
  readonly spentUsd: number
  readonly used: Usage
  /** Names of the tools that were declared to the model; undefined for a session of the Python edition. */
  readonly declaredTools: readonly string[] | undefined
  /** Names of tools whose calls were running when the last process ended. */
  readonly interrupted: readonly string[]
  /** The last process was killed during a reply; the history ends with what had arrived of it. */
  readonly partialReply: boolean
  /** Another process that has the session open. Its running calls are left to it. */
  readonly openIn: number | undefined
}

function namesIn(value: unknown): readonly string[] | undefined {
  return Array.isArray(value) ? value.filter((name) => typeof name === "string") : undefined
}

/** A session works without a store too: it then lives in memory, and the user sees a warning. */
export async function storeOrReason(services: {
  readonly store: () => Promise<SessionStore>
  readonly log: Logger
}): Promise<SessionStore | { readonly reason: string }> {
  try {
    return await services.store()
  } catch (error) {
    services.log.error(`session storage is unavailable: ${errorMessage(error)}`)
    return { reason: errorMessage(error) }
  }
}

/**
 * Loads a session to continue it. Calls that were running when the last process died get the result "outcome unknown", unless another
 * process has the session open: they may be running there.
 */
export async function loadResumedSession(
  id: SessionId,
  store: SessionStore | { readonly reason: string },
  home: Home,
): Promise<Result<ResumedSession>> {
  if ("reason" in store) return fail(`the session cannot be resumed: ${store.reason}`)
  const recovered = await readAndRecover(id, store, home)
  if (recovered === undefined) return fail(`there is no session ${id}; \`hermes sessions list\` shows them`)
  const { row } = recovered
  if (row.endedAt !== null) await store.reopenSession(id)
  const rows = await conversationRows(store, row)
  const system = ownPrompt(row)
  return ok({
    messages: repairStoredHistory(recovered.messages),
    revision: { ...recovered.revision, continued: false },
    lastMessageId: recovered.lastMessageId,
    system,
    cwd: row.cwd,
    spentUsd: rows.reduce((sum, { estimatedCostUsd }) => addUsd(sum, estimatedCostUsd ?? 0), 0),
    used: rows.reduce((sum, { usage }) => addUsage(sum, usage), NO_USAGE),
    declaredTools: system === undefined ? undefined : namesIn(row.modelConfig[DECLARED_TOOLS]),
    interrupted: recovered.interrupted,
    partialReply: recovered.partialReply,
    openIn: recovered.openIn,
  })
}

type RecoveredSession = StoredSession & Pick<ResumedSession, "interrupted" | "partialReply" | "openIn">

/**
 * Stores what a killed process left open. A process shows that it has the session open before it stores a call, and until the result
 * is stored (open-session-marker.ts). So if none is found after reading, and the session has not changed when the results are stored,
 * no running process can own the calls.
 */
async function readAndRecover(id: SessionId, store: SessionStore, home: Home): Promise<RecoveredSession | undefined> {
  for (;;) {
    const read = await readStored(id, store)
    if (read === undefined) return undefined
    const openIn = findOtherProcess(home, id)
    const nothing = { ...read, interrupted: [], partialReply: false, openIn }
    if (openIn !== undefined) return nothing
    const lost = resultsForUnsettledCalls([...read.messages.keys()])
    const partial = readPartialReply(home, id, read.lastMessageId)
    const recovered: readonly Message[] = [
      ...lost,
      ...(partial === undefined
        ? []
        : [{ role: "assistant", content: partial, finish_reason: "interrupted" } as const]),
    ]
    if (recovered.length === 0) {
      removePartialReplies(home, id)
      return nothing
    }
    const ids = await appendUnlessChanged(id, recovered, { store, since: read.revision })
    // Another process has just written, perhaps the results.
    if (ids === undefined) continue
    removePartialReplies(home, id)
    return {
      row: read.row,
      messages: new Map([...read.messages, ...recovered.map((message, index) => [message, ids[index] ?? 0] as const)]),
      revision: { ...read.revision, messageCount: read.revision.messageCount + recovered.length },
      lastMessageId: ids.at(-1) ?? read.lastMessageId,
      interrupted: lost.map((message) => message.tool_name),
      partialReply: partial !== undefined,
      openIn,
    }
  }
}

async function appendUnlessChanged(
  id: SessionId,
  messages: readonly Message[],
  { store, since }: { readonly store: SessionStore; readonly since: SessionRevision },
): Promise<readonly number[] | undefined> {
  try {
    return await store.append(id, messages, undefined, { since })
  } catch (error) {
    if (error instanceof StoreError && error.kind === "moved") return undefined
    throw error
  }
}

export interface StoredSession extends KnownState {
  readonly row: SessionRow
  readonly messages: ReadonlyMap<Message, number>
}

/** Reads a session. The revision is read first, so that messages written in the meantime count as newer. */
export async function readStored(id: SessionId, store: SessionStore): Promise<StoredSession | undefined> {
  const revision = await store.revision(id)
  const row = await store.session(id)
  if (revision === undefined || row === undefined) return undefined
  const rows = await store.messages(id)
  const messages = new Map(
    rows.flatMap((stored) => (stored.message === undefined ? [] : [[toSentForm(stored.message), stored.id] as const])),
  )
  return { row, messages, revision, lastMessageId: rows.at(-1)?.id ?? 0 }
}
