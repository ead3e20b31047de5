import type { App } from "../app/app.ts"
import type { Session } from "../app/session.ts"
import type { SessionId } from "../protocol/identifiers.ts"
import type { Part } from "../protocol/message.ts"

/** A command typed into a conversation. One definition serves every surface; help and completion are derived from it. */
export interface SlashCommand {
  readonly name: string
  readonly aliases?: readonly string[]
  readonly help: string
  /** Shown after the name in help, for example `NAME`. */
  readonly argument?: string
  /** Refused while an answer runs; other commands work at any time. */
  readonly idle?: true
  run(argument: string, context: SlashContext): Promise<SlashOutcome>
}

export interface SlashContext {
  readonly app: App
  readonly session: Session
  /** Opens another session in place of the current one; undefined starts a new conversation. */
  readonly open: (resume: SessionId | undefined) => Promise<Session>
  /** Asks the person a question of yes or no; absent where nobody can be asked. */
  readonly confirm?: (question: string) => Promise<boolean>
  /** Tells the person what is under way, where a command may take its time. */
  readonly note?: (text: string) => void
  /** An answer is running in this session. */
  readonly running: boolean
  /** The person gives up waiting for the command. */
  readonly signal: AbortSignal
}

export type SlashOutcome =
  | { readonly kind: "say"; readonly text: string }
  | { readonly kind: "switch"; readonly session: Session; readonly text: string }
  /** A message for the model: sent now, or as a turn of its own when the running one has ended. */
  | { readonly kind: "send"; readonly text: string }
  /** An image for the person's next message. */
  | { readonly kind: "attach"; readonly part: Part; readonly text: string }
  | { readonly kind: "leave" }
