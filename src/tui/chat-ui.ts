import type { Session } from "../app/session/session.ts"
import type { SlashContext, SlashOutcome } from "../commands/slash-command.ts"
import type { AgentEvent, PlanReady, RunEnd } from "../protocol/events.ts"

/**
 * How a conversation is shown and read: line by line, or with the full UI. The conversation decides what happens; an implementation
 * only draws and reads.
 */
export interface ChatUi {
  /** A conversation was opened, or replaces the one before. */
  opened(session: Session, reason: "start" | "switch"): void
  /**
   * Returns the next message; undefined at the end of input, when the user leaves and when the conversation's signal aborts. `wake`
   * cancels the wait with `WOKEN`; the draft stays.
   */
  next(wake: AbortSignal): Promise<string | undefined | typeof WOKEN>
  /** Sends lines and Ctrl+C to a listener while a turn or command runs; undefined ends that. */
  whileBusy(listener: BusyListener | undefined): void
  /** Returns unused lines to the front of the queue. */
  putBack(lines: readonly string[]): void
  /** Puts text into the editor, before what the user has typed there. */
  returnToDraft(text: string): void
  /** Shows a message of the user that was not typed at the prompt just now. */
  showMessage(text: string): void
  /** Shows text for the user: the reply of a command, or a remark. */
  line(text: string): void
  errLine(text: string): void
  /** Shows a turn and asks its questions. */
  openTurn(session: Session): TurnUi
  /** Shows that a command is running. */
  openCommand(name: string, signal: AbortSignal): CommandUi
  /** Asks about the plan of the turn that has just ended. */
  answerPlan(session: Session, plan: PlanReady, view: PlanView): Promise<SlashOutcome>
  close(): void
}

/** The result of `next` when its `wake` signal aborted. */
export const WOKEN = Symbol("woken")

export interface BusyListener {
  line(text: string): void
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
  /** The run has ended: open questions are cancelled. */
  end(end: RunEnd): Promise<void>
  /** Removes what is not part of the result; also when the turn ended otherwise. */
  close(): void
}

/** What a slash command can use while it runs. */
export interface CommandUi extends Pick<SlashContext, "confirm" | "note"> {
  setDraft(text: string): void
  close(): void
}

export interface PlanView {
  /** The answer of the turn, which the user has read. */
  readonly answer: string
  readonly signal: AbortSignal
}
