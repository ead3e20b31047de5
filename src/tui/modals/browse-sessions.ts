import type { SessionStoreContext } from "../../admin/sessions/session-store.ts"
import { sessionList, type SessionListOptions } from "../../commands/lists/session-list.ts"
import type { Environment } from "../../config/environment.ts"
import type { SessionId } from "../../protocol/identifiers.ts"
import { showList } from "./show-list.ts"

export interface BrowseOptions extends Pick<SessionListOptions, "source" | "limit"> {
  readonly environment: Environment
  readonly color: boolean
  readonly signal: AbortSignal
}

/** `hermes sessions browse` on a terminal. Undefined when the user leaves the list. */
export async function browseSessions(
  context: SessionStoreContext,
  { environment, color, signal, ...list }: BrowseOptions,
): Promise<SessionId | undefined> {
  return await showList(sessionList(context, list), { environment, color, signal })
}
