import { assertNever } from "../../base/assert-never.ts"
import { ellipsize } from "../../base/text.ts"
import type { Session } from "../../app/session/session.ts"
import type { SlashOutcome } from "../../commands/slash-command.ts"
import { mayNeedExpansion } from "../../app/input/may-need-expansion.ts"
import { shellLineCommand } from "../../app/input/shell-input.ts"
import { isSlashLine } from "../../commands/slash-line.ts"
import type { Part } from "../../protocol/message.ts"
import type { BusyListener } from "../chat-ui.ts"

/** What a line does that is typed during a reply: interrupt it, be sent after it, or be added to the running turn. */
export type BusyMode = "interrupt" | "queue" | "steer"

export interface BusyInputOptions {
  readonly mode: () => BusyMode
  readonly session: Pick<Session, "interrupt" | "steer">
  /** Messages for later turns, the next one first. */
  readonly outbox: string[]
  /** Images for the next user message. */
  readonly attached: Part[]
  /** Runs a slash command. Never rejects. */
  readonly command: (line: string) => Promise<SlashOutcome>
  readonly note: (text: string) => void
  /** A command has queued a text that the user did not type. */
  readonly notTyped: (text: string) => void
  /** Puts text into the editor. */
  readonly edit: (draft: string) => void
  readonly redraw: () => void
  /** Ends the process: the user pressed Ctrl+C again during an interrupt. */
  readonly force: () => void
  /** Milliseconds since the epoch. */
  readonly now: () => number
}

/** Handles what the user types during a turn. */
export interface BusyInput extends BusyListener {
  /** Call it when the run has ended: there is nothing left to interrupt or to steer. */
  runEnded(): void
  /** Waits for running commands and returns what to do after the turn. */
  finish(): Promise<AfterTurn>
}

export type AfterTurn = Extract<SlashOutcome, { kind: "switch" | "quit" }> | { readonly kind: "continue" }

const MAX_SHOWN_CHARS = 200

/** A second Ctrl+C within this time ends the process. */
const FORCE_WITHIN_MS = 2000

export function createBusyInput(options: BusyInputOptions): BusyInput {
  const { session, outbox, note } = options
  const commands: Promise<void>[] = []
  const replacements: string[] = []
  let after: AfterTurn = { kind: "continue" }
  let running = true
  let hasSaidQueued = false
  let interruptedAt = Number.NEGATIVE_INFINITY

  const stop = (): void => {
    if (running) session.interrupt()
  }
  const queue = (text: string): void => {
    outbox.push(text)
    if (!hasSaidQueued) note("Queued until this reply is complete.")
    hasSaidQueued = true
  }
  /** A command of the user does not interrupt, and references cannot be added to a running turn. */
  const busyMode = (text: string): BusyMode => {
    const mode = options.mode()
    if (shellLineCommand(text) !== undefined) return "queue"
    return mode === "steer" && mayNeedExpansion(text) ? "queue" : mode
  }
  const send = (text: string): void => {
    if (!running) {
      outbox.push(text)
      return
    }
    const mode = busyMode(text)
    switch (mode) {
      case "interrupt":
        replacements.push(text)
        stop()
        return
      case "queue":
        queue(text)
        return
      case "steer":
        if (session.steer(text)) note(`Added to the running turn: ${shortened(text)}`)
        else queue(text)
        return
      default:
        assertNever(mode)
    }
  }
  const runCommand = async (line: string): Promise<void> => {
    const outcome = await options.command(line)
    switch (outcome.kind) {
      case "reply":
        if (outcome.text !== "") note(outcome.text)
        return
      case "send":
        options.attached.push(...(outcome.images ?? []))
        if (outcome.typed !== true) options.notTyped(outcome.text)
        queue(outcome.text)
        return
      case "edit":
        options.edit(outcome.draft)
        if (outcome.text !== "") note(outcome.text)
        return
      case "redraw":
        options.redraw()
        return
      case "attach":
        options.attached.push(outcome.part)
        note(outcome.text)
        return
      case "switch":
      case "quit":
        after = outcome
        stop()
        return
      default:
        assertNever(outcome)
    }
  }

  return {
    line: (typed) => {
      const text = typed.text.trim()
      options.attached.push(...typed.images)
      if (text === "") return
      if (isSlashLine(text)) commands.push(runCommand(text))
      else send(text)
    },
    interrupt: () => {
      const now = options.now()
      if (now - interruptedAt < FORCE_WITHIN_MS) options.force()
      interruptedAt = now
      if (!running) return
      stop()
      // The user wants everything to stop, and would otherwise have to interrupt each queued message too.
      for (const text of outbox.splice(0)) note(`Not sent: ${shortened(text)}`)
    },
    runEnded: () => {
      running = false
    },
    finish: async () => {
      await Promise.all(commands)
      if (replacements.length > 0) outbox.unshift(replacements.join("\n"))
      return after
    },
  }
}

function shortened(text: string): string {
  return ellipsize(text.replaceAll(/\s+/gu, " "), MAX_SHOWN_CHARS)
}
