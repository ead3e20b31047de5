import type { Logger } from "../../base/logger.ts"
import { fail, ok } from "../../base/result.ts"
import type { Result } from "../../base/result.ts"
import { errorMessage } from "../../base/system-error.ts"
import { resultsForUnsettledCalls } from "../../agent/history-repair.ts"
import { toSentForm } from "../../agent/sent-form.ts"
import type { Home } from "../../config/home.ts"
import type { SessionId } from "../../protocol/identifiers.ts"
import type { Message } from "../../protocol/message.ts"
import type { Usage } from "../../protocol/usage.ts"
import type { KnownState, SessionRow, SessionStore } from "../../state/store.ts"
import { findOtherProcess } from "./open-session-marker.ts"

/** What a resumed session starts with. */
export interface ResumedSession extends KnownState {
  /** Each message in the form in which it is sent, with its row id. */
  readonly messages: ReadonlyMap<Message, number>
  readonly system: string | undefined
  readonly spentUsd: number
  readonly used: Usage
  /** Names of the tools that were declared to the model; undefined for a session of the Python edition. */
  readonly declaredTools: readonly string[] | undefined
  /** Names of tools whose calls were running when the last process ended. */
  readonly interrupted: readonly string[]
  /** Another process that has the session open. Its running calls are left to it. */
  readonly openIn: number | undefined
}

/** The key in a session's `model_config` that lists its declared tools. */
export const DECLARED_TOOLS = "declared_tools"

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

/** Loads a session to continue it. Calls that were running when the last process died get the result "outcome unknown". */
export async function loadResumedSession(
  id: SessionId,
  store: SessionStore | { readonly reason: string },
  home: Home,
): Promise<Result<ResumedSession>> {
  if ("reason" in store) return fail(`the session cannot be resumed: ${store.reason}`)
  const read = await readStored(id, store)
  if (read === undefined) return fail(`there is no session ${id}; \`hermes sessions list\` shows them`)
  const { row, revision } = read
  let { lastMessageId } = read
  const messages = new Map(read.messages)
  const openIn = findOtherProcess(home, id)
  const lost = openIn === undefined ? resultsForUnsettledCalls([...messages.keys()]) : []
  if (lost.length > 0) {
    const ids = await store.append(id, lost)
    for (const [index, message] of lost.entries()) messages.set(message, ids[index] ?? 0)
    lastMessageId = ids.at(-1) ?? lastMessageId
  }
  if (row.endedAt !== null) await store.reopenSession(id)
  return ok({
    messages,
    revision: { ...revision, messageCount: revision.messageCount + lost.length, continued: false },
    lastMessageId,
    system: row.systemPrompt === "" ? undefined : (row.systemPrompt ?? undefined),
    spentUsd: row.estimatedCostUsd ?? 0,
    used: row.usage,
    declaredTools: namesIn(row.modelConfig[DECLARED_TOOLS]),
    interrupted: lost.map((message) => message.tool_name),
    openIn,
  })
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
