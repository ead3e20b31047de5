import type { App } from "../app/app.ts"
import type { Session } from "../app/session/session.ts"
import type { SessionId } from "../protocol/identifiers.ts"
import type { Part } from "../protocol/message.ts"

/** A command typed into a conversation. One definition serves every surface; help and completion are derived from it. */
export interface SlashCommand {
  readonly name: string
  readonly aliases?: readonly string[]
  readonly help: string
  /** Shown after the name in help, for example `NAME`. */
  readonly argument?: string
  /** Refused while a reply is being generated; other commands work at any time. */
  readonly idleOnly?: true
  run(argument: string, context: SlashContext): Promise<SlashOutcome>
}

export interface SlashContext {
  readonly app: App
  readonly session: Session
  /** Opens the session that replaces the current one; undefined starts a new conversation. */
  readonly open: (resume: SessionId | undefined) => Promise<Session>
  /** Asks the user a yes-or-no question; absent when no user can be asked. */
  readonly confirm?: (question: string) => Promise<boolean>
  /** Shows the progress of a slow command. */
  readonly note?: (text: string) => void
  /** A reply is being generated in this session. */
  readonly running: boolean
  /** Aborts when the user cancels the command. */
  readonly signal: AbortSignal
}

export type SlashOutcome =
  /** Text for the user. */
  | { readonly kind: "reply"; readonly text: string }
  | { readonly kind: "switch"; readonly session: Session; readonly text: string }
  /** A message for the model, sent now or, while a reply is being generated, as the next turn. */
  | { readonly kind: "send"; readonly text: string }
  /** An image for the next user message. */
  | { readonly kind: "attach"; readonly part: Part; readonly text: string }
  | { readonly kind: "quit" }

export function reply(text: string): SlashOutcome {
  return { kind: "reply", text }
}
