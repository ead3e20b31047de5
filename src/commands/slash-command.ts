import type { App } from "../app/app.ts"
import type { Session } from "../app/session.ts"
import type { SessionId } from "../protocol/identifiers.ts"

/** A command typed into a conversation. One definition serves every surface; help and completion are derived from it. */
export interface SlashCommand {
  readonly name: string
  readonly aliases?: readonly string[]
  readonly help: string
  /** Shown after the name in help, for example `NAME`. */
  readonly argument?: string
  run(argument: string, context: SlashContext): Promise<SlashOutcome>
}

export interface SlashContext {
  readonly app: App
  readonly session: Session
  /** Opens another session in place of the current one; undefined starts a new conversation. */
  readonly open: (resume: SessionId | undefined) => Promise<Session>
}

export type SlashOutcome =
  | { readonly kind: "say"; readonly text: string }
  | { readonly kind: "switch"; readonly session: Session; readonly text: string }
  | { readonly kind: "leave" }
