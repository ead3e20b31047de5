import type { Logger } from "../base/logger.ts"
import { fail, ok } from "../base/result.ts"
import type { Result } from "../base/result.ts"
import { errorMessage } from "../base/system-error.ts"
import { unsettledCalls } from "../agent/history.ts"
import { asSent } from "../agent/shown-form.ts"
import type { Home } from "../config/home.ts"
import type { SessionId } from "../protocol/identifiers.ts"
import type { Message } from "../protocol/message.ts"
import type { Usage } from "../protocol/usage.ts"
import type { KnownState, SessionRow, SessionStore } from "../state/store.ts"
import { openElsewhere } from "./session-presence.ts"

/** What a resumed session starts with. */
export interface Past extends KnownState {
  /** In the form in which they are sent, with the row each is stored in. */
  readonly messages: ReadonlyMap<Message, number>
  readonly system: string | undefined
  readonly spentUsd: number
  readonly used: Usage
  /** The tools its model was told about, by name; undefined for a session of another edition. */
  readonly declaredTools: readonly string[] | undefined
  /** Calls that were under way when the last process ended. */
  readonly interrupted: readonly string[]
  /** Another process that has the session open; what it is doing is left to it. */
  readonly openIn: number | undefined
}

/** Where a session's row keeps the tools that were declared. */
export const DECLARED_TOOLS = "declared_tools"

function namesIn(value: unknown): readonly string[] | undefined {
  return Array.isArray(value) ? value.filter((name) => typeof name === "string") : undefined
}

/** A store that cannot be opened is no reason not to talk: the session then lives in memory, and says so. */
export async function storeOrReason(shared: {
  readonly store: () => Promise<SessionStore>
  readonly log: Logger
}): Promise<SessionStore | { readonly reason: string }> {
  try {
    return await shared.store()
  } catch (error) {
    shared.log.error(`session storage is unavailable: ${errorMessage(error)}`)
    return { reason: errorMessage(error) }
  }
}

/** The conversation so far, valid for every wire: calls that were in flight when the process died get their result now. */
export async function loadPast(
  id: SessionId,
  store: SessionStore | { readonly reason: string },
  home: Home,
): Promise<Result<Past>> {
  if ("reason" in store) return fail(`the session cannot be resumed: ${store.reason}`)
  const read = await readStored(id, store)
  if (read === undefined) return fail(`there is no session ${id}; \`hermes sessions list\` shows them`)
  const { row, mark } = read
  let { head } = read
  const messages = new Map(read.messages)
  const openIn = openElsewhere(home, id)
  const lost = openIn === undefined ? unsettledCalls([...messages.keys()]) : []
  if (lost.length > 0) {
    const ids = await store.append(id, lost)
    for (const [index, message] of lost.entries()) messages.set(message, ids[index] ?? 0)
    head = ids.at(-1) ?? head
  }
  if (row.endedAt !== null) await store.reopenSession(id)
  return ok({
    messages,
    mark: { ...mark, added: mark.added + lost.length, continued: false },
    head,
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

/** A session as it is stored now. What is written to it while it is read counts as later than its mark. */
export async function readStored(id: SessionId, store: SessionStore): Promise<StoredSession | undefined> {
  const mark = await store.mark(id)
  const row = await store.session(id)
  if (mark === undefined || row === undefined) return undefined
  const rows = await store.messages(id)
  const messages = new Map(
    rows.flatMap((stored) => (stored.message === undefined ? [] : [[asSent(stored.message), stored.id] as const])),
  )
  return { row, messages, mark, head: rows.at(-1)?.id ?? 0 }
}
