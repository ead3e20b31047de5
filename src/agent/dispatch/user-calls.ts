import { createInnerCalls } from "./call-tool.ts"
import type { InnerCalls } from "./call-tool.ts"
import type { CallRun, DispatchSession } from "./dispatch-session.ts"
import { passDoor } from "./door.ts"

/**
 * Calls for what the user has typed, for example a command or a reference to a file. They pass the same door as the calls of the model,
 * and their results are not part of the conversation. The caller ends it.
 */
export function openUserCalls(session: DispatchSession, run: CallRun): InnerCalls {
  return createInnerCalls({ kind: "user" }, { session, run, passDoor })
}
