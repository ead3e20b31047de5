import { contentText } from "../../protocol/message.ts"
import type { UserInput } from "../../protocol/message.ts"
import type { Steps } from "../../agent/steps.ts"
import { expandMessage } from "../input/expand-message.ts"
import type { ExpandedMessage } from "../input/expand-message.ts"
import { referenceTools, withUserCalls } from "./user-calls.ts"
import type { UserRun } from "./user-calls.ts"

/** Carries out the references and commands in a message of the user, through the door of the session. */
export async function* expandInput(input: UserInput, run: UserRun): Steps<ExpandedMessage> {
  const { parts, signal } = run
  const { dispatch, expansion } = parts
  const { workspaceRoot } = dispatch.policyDirectories
  return yield* withUserCalls(run, (calls) =>
    expandMessage(contentText(input), {
      calls,
      tools: referenceTools(parts),
      workspace: dispatch.workspace,
      directories: dispatch.policyDirectories,
      root: workspaceRoot ?? dispatch.workspace.cwd(),
      skills: parts.abilities.skills,
      runsCommands: dispatch.permissions.rules().profile.default !== "plan",
      contextLength: parts.compression.figures.contextLength,
      redact: (text) => parts.redact(text),
      signal,
      ...expansion,
    }),
  )
}
