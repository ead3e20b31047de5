import type { App } from "../app/app.ts"
import type { ChosenModel } from "../llm/choose-model.ts"
import type { Session } from "../app/session/session.ts"
import type { SessionId } from "../protocol/identifiers.ts"
import type { Part } from "../protocol/message.ts"
import type { PickChoice } from "./choice-list.ts"
import type { DisplayControl } from "./display-control.ts"

/** A command typed into a conversation. One definition serves every surface; help and completion are derived from it. */
export interface SlashCommand {
  readonly name: string
  readonly aliases?: readonly string[]
  readonly help: string
  readonly category: SlashCategory
  /** More for `/help COMMAND`. */
  readonly details?: string
  /** Shown after the name in help, for example `NAME`. */
  readonly argument?: string
  /** What the first argument names, for completion. Sub-commands are taken from `argument`. */
  readonly completes?: ArgumentKind
  /** Refused while a reply is being generated; other commands work at any time. */
  readonly idleOnly?: true
  /** The beginning of the name is not enough: a mistyped line must not loosen the permissions. */
  readonly needsWholeName?: true
  run(argument: string, context: SlashContext): Promise<SlashOutcome>
}

export const SLASH_CATEGORIES = [
  "conversation",
  "model",
  "permissions",
  "tools",
  "knowledge",
  "display",
  "information",
] as const

export type SlashCategory = (typeof SLASH_CATEGORIES)[number]

export type ArgumentKind = "model" | "session" | "tool" | "permission-profile" | "skin" | "personality" | "command"

export interface SlashContext {
  readonly app: App
  readonly session: Session
  /** Opens the session that replaces the current one; undefined starts a new conversation. */
  readonly open: (resume: SessionId | undefined, choices?: SessionChoices) => Promise<Session>
  /** Asks the user a yes-or-no question; absent when no user can be asked. */
  readonly confirm?: (question: string) => Promise<boolean>
  /** The same, and the user can answer not to be asked again; absent where `confirm` has to be enough. */
  readonly confirmOrAlways?: (question: string) => Promise<"once" | "always" | "cancel">
  /** Shows a list from which the user chooses; absent where none can be shown. */
  readonly pick?: PickChoice
  /** Asks for a key or password, which is not shown; undefined for no answer. Absent where `pick` asks for it. */
  readonly askSecret?: (question: string) => Promise<string | undefined>
  /** Conversations that are opened later in this process use this model too. */
  readonly keepModel?: (chosen: ChosenModel) => void
  /** Shows the progress of a slow command. */
  readonly note?: (text: string) => void
  /** How the conversation is shown; absent where nothing of it can be changed. */
  readonly display?: DisplayControl
  /** Puts text on the clipboard of the user's terminal; returns a sentence when that failed. */
  readonly copy?: (text: string) => Promise<string | undefined>
  /** Tasks in sessions of their own; absent where their results cannot be shown. */
  readonly background?: BackgroundTasks
  /** A reply is being generated in this session. */
  readonly running: boolean
  /** Aborts when the user cancels the command. */
  readonly signal: AbortSignal
}

/** What a new conversation is opened with, instead of what the settings and the command line say. */
export interface SessionChoices {
  readonly toolsets?: readonly string[]
  /** The name of a personality, or "none". */
  readonly personality?: string
}

export interface BackgroundTasks {
  /** Starts a task that is given only the prompt. Returns its number. */
  start(prompt: string): Promise<number>
  list(): readonly BackgroundTask[]
  /** False when no task with this number is running. */
  stop(number: number): boolean
}

export interface BackgroundTask {
  readonly number: number
  readonly prompt: string
  readonly sessionId: SessionId
  /** Milliseconds since the epoch. */
  readonly startedAt: number
}

export type SlashOutcome =
  /** Text for the user; empty when there is nothing to say. */
  | { readonly kind: "reply"; readonly text: string }
  | {
      readonly kind: "switch"
      readonly session: Session
      readonly text: string
      readonly clearsScreen?: true
      /** It is another conversation, whose last messages the user wants to see. */
      readonly isResumed?: true
      /** It is a copy of this conversation. */
      readonly isBranch?: true
    }
  /** A message for the model, sent now or, while a reply is being generated, as the next turn. */
  | {
      readonly kind: "send"
      readonly text: string
      readonly images?: readonly Part[]
      /** The user typed the text, so references and commands in it are carried out. */
      readonly typed?: true
    }
  /** Text for the editor, which the user can change and send. */
  | { readonly kind: "edit"; readonly draft: string; readonly text: string }
  /** Everything on the screen is drawn again. */
  | { readonly kind: "redraw" }
  /** An image for the next user message. */
  | { readonly kind: "attach"; readonly part: Part; readonly text: string }
  /** `afterClose` runs when the session is closed; its result is shown. */
  | { readonly kind: "quit"; readonly afterClose?: () => Promise<string> }

export function reply(text: string): SlashOutcome {
  return { kind: "reply", text }
}

/** The user has left a list without a choice. */
export const NOTHING_CHOSEN: SlashOutcome = reply("")
