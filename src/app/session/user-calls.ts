import { Channel } from "../../base/channel.ts"
import type { TurnRun } from "../../agent/turn.ts"
import { openUserCalls } from "../../agent/dispatch/user-calls.ts"
import type { AgentEventBody } from "../../protocol/events.ts"
import type { CallToolPort } from "../../toolkit/ports/call-tool.ts"
import type { ReferenceTools } from "../input/attachment.ts"
import type { SessionParts } from "./session-parts.ts"

/** The run in which tools are called for the user. */
export interface UserRun extends Pick<TurnRun, "interactions" | "signal" | "runId"> {
  readonly parts: SessionParts
}

/** Does work that calls tools for the user, and emits their events. A reader that stops reading ends the calls. */
export async function* withUserCalls<T>(
  { parts, interactions, signal, runId }: UserRun,
  work: (calls: CallToolPort) => Promise<T>,
): AsyncGenerator<AgentEventBody, T, void> {
  const events = new Channel<AgentEventBody>()
  const calls = openUserCalls(parts.dispatch, { runId, signal, interactions, events, heartbeat: false })
  const run = async (): Promise<T> => {
    try {
      return await work(calls.port)
    } finally {
      await calls.end()
      events.close()
    }
  }
  const done = run()
  // The failure is thrown below; until a slow reader gets there it must not count as an unhandled rejection.
  done.catch(() => undefined)
  try {
    yield* events
  } finally {
    await calls.end()
  }
  return await done
}

/** The tools of the session that references and commands of the user need. */
export function referenceTools({ dispatch: { tools } }: UserRun["parts"]): ReferenceTools {
  const named = (wanted: string): string | undefined => tools.values().find(({ role }) => role === wanted)?.name
  return { shell: named("shell"), fileReader: named("file-reader"), fileSearch: named("file-search") }
}
