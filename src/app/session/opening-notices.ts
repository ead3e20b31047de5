import { locationLines, namesDirectory, namesRemoteLocation } from "../../agent/prompt/environment-text.ts"
import type { WorkspaceFacts, WorkspaceKind } from "../../exec/workspace.ts"
import type { ResumedSession } from "./resume.ts"

/** Warnings for the user about a resumed conversation. */
export function openingWarnings(resumed: ResumedSession | undefined): readonly string[] {
  return [...interruptedCalls(resumed), ...interruptedReply(resumed), ...openTwice(resumed)]
}

/** Where the tools of a session work now. */
export interface CurrentWorkspace {
  /** A note about it, such as that of a worktree. */
  readonly note: string | undefined
  readonly kind: WorkspaceKind
  readonly facts: WorkspaceFacts
}

/**
 * A stored prompt never changes, so a resumed session gets a changed workspace with its next message, once. Undefined when the model
 * knows it already.
 */
export function changedWorkspaceNote(
  { note, kind, facts }: CurrentWorkspace,
  resumed: ResumedSession | undefined,
): string | undefined {
  if (resumed?.system === undefined) return undefined
  const earlier = [...resumed.messages.keys()].flatMap((message) =>
    message.role === "user" && message.injected?.includes(WORKSPACE_MARKER) === true ? [message.injected] : [],
  )
  const known = earlier.at(-1) ?? resumed.system
  const location = locationLines(kind, facts)
  const returned = kind === "local" && namesRemoteLocation(known)
  const isKnown =
    !returned &&
    (namesDirectory(known) ? hasLines(known, location) : resumed.cwd === null || resumed.cwd === facts.cwd) &&
    (note === undefined || known.includes(note.split("\n", 1)[0] ?? ""))
  if (isKnown) return undefined
  const lines = [
    note ?? "Paths in earlier messages may refer to another directory.",
    ...(returned ? ["File and terminal tools work on the machine Hermes runs on."] : []),
    ...location,
  ]
  return `${WORKSPACE_MARKER} ${lines.join("\n")}]`
}

/** Compares whole lines: `/a` is not `/ab`. The last line of a note ends with its bracket. */
function hasLines(text: string, lines: readonly string[]): boolean {
  const withoutBracket = (line: string): string => line.replace(/\]$/u, "")
  const found = new Set(text.split("\n").map(withoutBracket))
  return lines.every((line) => found.has(withoutBracket(line)))
}

const WORKSPACE_MARKER = "[The workspace has changed."

/** Calls that were running when the last process ended. They are not run again. */
function interruptedCalls(resumed: ResumedSession | undefined): readonly string[] {
  if (resumed === undefined || resumed.interrupted.length === 0) return []
  const names = resumed.interrupted.join(", ")
  return [`Hermes stopped during a tool call (${names}). Its outcome is unknown, and it is not run again.`]
}

function interruptedReply(resumed: ResumedSession | undefined): readonly string[] {
  return resumed?.partialReply === true
    ? ["Hermes was stopped during a reply. What had arrived of it is part of the conversation."]
    : []
}

function openTwice(resumed: ResumedSession | undefined): readonly string[] {
  return resumed?.openIn === undefined
    ? []
    : [
        `This conversation is also open in process ${resumed.openIn}. The model sees its messages with your next message, but they are not shown here; let only one of the two answer at a time.`,
      ]
}
