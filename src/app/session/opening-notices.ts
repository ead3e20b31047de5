import type { ResumedSession } from "./resume.ts"

/** Warnings for the user about a resumed conversation. */
export function openingWarnings(resumed: ResumedSession | undefined): readonly string[] {
  return [...interruptedCalls(resumed), ...openTwice(resumed)]
}

/**
 * A stored prompt never changes, so a resumed session gets a changed workspace note with its next message, once. Undefined
 * when the model knows it already.
 */
export function changedWorkspaceNote(
  note: string | undefined,
  resumed: ResumedSession | undefined,
): string | undefined {
  if (note === undefined || resumed?.system === undefined) return undefined
  const earlier = [...resumed.messages.keys()].flatMap((message) =>
    message.role === "user" && message.injected?.includes(WORKSPACE_MARKER) === true ? [message.injected] : [],
  )
  const [firstLine = ""] = note.split("\n", 1)
  return (earlier.at(-1) ?? resumed.system).includes(firstLine) ? undefined : `${WORKSPACE_MARKER} ${note}]`
}

const WORKSPACE_MARKER = "[The workspace has changed."

/** Calls that were running when the last process ended. They are not run again. */
function interruptedCalls(resumed: ResumedSession | undefined): readonly string[] {
  if (resumed === undefined || resumed.interrupted.length === 0) return []
  const names = resumed.interrupted.join(", ")
  return [`Hermes stopped during a tool call (${names}). Its outcome is unknown, and it is not run again.`]
}

function openTwice(resumed: ResumedSession | undefined): readonly string[] {
  return resumed?.openIn === undefined
    ? []
    : [
        `This conversation is also open in process ${resumed.openIn}. The model sees its messages with your next message, but they are not shown here; let only one of the two answer at a time.`,
      ]
}
