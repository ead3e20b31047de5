import type { Session } from "../app/session/session.ts"
import type { DisplayControl } from "../commands/display-control.ts"
import type { SlashContext, SlashOutcome } from "../commands/slash-command.ts"
import type { AgentEvent, PlanReady, RunEnd } from "../protocol/events.ts"
import type { Part } from "../protocol/message.ts"

/**
 * How a conversation is shown and read: line by line, or with the full UI. The conversation decides what happens; an implementation
 * only draws and reads.
 */
export interface ChatUi {
  /** A conversation was opened, or replaces the one before. */
  opened(session: Session, reason: "start" | "switch" | "resume"): Promise<void>
  /** Messages that wait for the end of the turn. The UI may change them. */
  readonly outbox: string[]
  /**
   * Returns the next message; undefined at the end of input, when the user leaves and when the conversation's signal aborts. `wake`
   * cancels the wait with `WOKEN`; the draft stays.
   */
  next(wake: AbortSignal): Promise<TypedMessage | undefined | typeof WOKEN>
  /** Sends messages and Ctrl+C to a listener while a turn or command runs; undefined ends that. */
  whileBusy(listener: BusyListener | undefined): void
  /** Returns unused messages to the front of the queue. */
  putBack(messages: readonly TypedMessage[]): void
  /** Puts text into the editor, before what the user has typed there. */
  returnToDraft(text: string): void
  /** Shows a message of the user that was not typed at the prompt just now. */
  showMessage(text: string): void
  /** Shows text for the user: the reply of a command, or a remark. */
  line(text: string): void
  errLine(text: string): void
  /** Shows a text that has arrived between two turns, for example the result of a background task. */
  panel(title: string, text: string): Promise<void>
  /** Draws everything again that can be drawn again. */
  redraw(): void
  /** Moves what is on the screen out of sight. It stays in the scrollback. */
  startNewPage(): void
  /** Shows a turn and asks its questions. */
  openTurn(session: Session): TurnUi
  /** How the conversation is shown; commands change it. */
  readonly display: DisplayControl
  /** What a command can use that is typed during a turn. Questions are left out where they would get between the lines of a reply. */
  readonly duringTurn: UiAbilities
  /** Shows that a command is running. */
  openCommand(name: string, signal: AbortSignal): CommandUi
  /** Asks about the plan of the turn that has just ended. */
  answerPlan(session: Session, plan: PlanReady, view: PlanView): Promise<SlashOutcome>
  /** The conversation is over: says how to resume it. */
  farewell(session: Session): Promise<void>
  close(): void
}

/** The result of `next` when its `wake` signal aborted. */
export const WOKEN = Symbol("woken")

/** What the user has typed, with the images that were attached in the editor. */
export interface TypedMessage {
  readonly text: string
  readonly images: readonly Part[]
}

export interface BusyListener {
  line(message: TypedMessage): void
  interrupt(): void
  /** What the user has typed so far, where the UI does not show it by itself. */
  draftChanged?(text: string): void
}

export type LiveEvent = Exclude<AgentEvent, { type: "run-end" }>

export interface TurnUi {
  event(event: LiveEvent): void
  /** Shows a line about the turn that is not part of the answer. */
  note(text: string): void
  /** Shows what the user types during the turn. */
  setDraft(text: string): void
  /** The user has sent a message during the turn. */
  typed(text: string): void
  /** The run has ended: open questions are cancelled. */
  end(end: RunEnd): Promise<void>
  /** Removes what is not part of the result; also when the turn ended otherwise. */
  close(): void
}

/** The parts of a command's context that a user interface provides. */
export type UiAbilities = Pick<SlashContext, "confirm" | "confirmOrAlways" | "pick" | "askSecret" | "copy">

/** Shows that a command is running. */
export interface CommandUi {
  readonly abilities: UiAbilities
  note(text: string): void
  setDraft(text: string): void
  close(): void
}

export interface PlanView {
  /** The answer of the turn, which the user has read. */
  readonly answer: string
  readonly signal: AbortSignal
}
