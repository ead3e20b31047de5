import { Channel } from "../../base/channel.ts"
import { openUserCalls } from "../../agent/dispatch/user-calls.ts"
import type { AgentEventBody } from "../../protocol/events.ts"
import type { CallToolPort } from "../../toolkit/ports/call-tool.ts"
import type { ReferenceTools } from "../input/attachment.ts"
import type { RunInput } from "./session-run.ts"

type UserRun = Pick<RunInput, "parts" | "interactions" | "signal" | "runId">

/** Does work that calls tools for the user, and emits their events. A reader that stops reading ends the calls. */
export async function* withUserCalls<T>(
  { parts, interactions, signal, runId }: UserRun,
  work: (calls: CallToolPort) => Promise<T>,
): AsyncGenerator<AgentEventBody, T, void> {
  const events = new Channel<AgentEventBody>()
  const calls = openUserCalls(parts.dispatch, { runId, signal, interactions, events, heartbeat: false })
  const done = work(calls.port).finally(async () => {
    await calls.end()
    events.close()
  })
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
