import { ellipsize } from "../../base/text.ts"
import { completedEnd, createTally, errorEnd, interruptedEnd } from "../../agent/turn-end.ts"
import type { TurnEnd } from "../../agent/turn-end.ts"
import type { Steps } from "../../agent/steps.ts"
import { callForFields } from "../input/attachment.ts"
import { NO_COMMANDS_IN_PLAN_MODE, NO_SHELL, notRun } from "../input/expand-message.ts"
import { referenceTools, withUserCalls } from "./user-calls.ts"
import type { UserRun } from "./user-calls.ts"

const MAX_SHOWN_CHARS = 100_000

/** Runs a command of the user. Its output is the text of the end; the model does not see it. */
export async function* runUserCommand(command: string, run: UserRun): Steps<TurnEnd> {
  const { parts, signal } = run
  const { shell } = referenceTools(parts)
  if (parts.dispatch.permissions.rules().profile.default === "plan") return refused(NO_COMMANDS_IN_PLAN_MODE)
  if (shell === undefined)
    return refused(`${NO_SHELL} Start Hermes with it: \`hermes -t terminal\`, or \`hermes tools enable terminal\`.`)
  const ran = yield* withUserCalls(run, (calls) => callForFields(calls, shell, { command }))
  if (signal.aborted) return interruptedEnd("interrupted_by_user", createTally())
  const { output } = ran.ok ? ran.value : ran.error.fields
  const text = typeof output === "string" ? output : ""
  // A command that ran and failed has its output; one that did not run has a reason.
  if (!ran.ok && text === "") return refused(notRun(`!${ellipsize(command, 80)}`, ran.error))
  return completedEnd({ exitReason: "command", text: ellipsize(text, MAX_SHOWN_CHARS) }, createTally())
}

function refused(message: string): TurnEnd {
  return errorEnd({ exitReason: "command_refused", code: "command_refused", message }, createTally())
}
