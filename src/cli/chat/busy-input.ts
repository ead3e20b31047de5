import { assertNever } from "../../base/assert-never.ts"
import type { Session } from "../../app/session.ts"
import type { SlashOutcome } from "../../commands/slash-command.ts"
import { isSlashLine } from "../../commands/slash-table.ts"
import type { Part } from "../../protocol/message.ts"
import type { BusyWorker } from "./typed-lines.ts"

/** What a line does that is typed while an answer runs: stop it and take its place, wait, or be added to it. */
export type BusyMode = "interrupt" | "queue" | "steer"

export interface BusyInputOptions {
  readonly mode: () => BusyMode
  readonly session: Pick<Session, "interrupt" | "steer">
  /** Messages for later turns, the next one first. */
  readonly outbox: string[]
  /** Images for the person's next message. */
  readonly attached: Part[]
  /** Never rejects. */
  readonly command: (line: string) => Promise<SlashOutcome>
  readonly note: (text: string) => void
  /** The person wants out although an interrupt is under way. */
  readonly force: () => void
  /** Milliseconds since the epoch. */
  readonly now: () => number
}

/** The person's side of a running turn. */
export interface BusyInput extends BusyWorker {
  /** The run has ended: nothing is left to stop or to add to. */
  runEnded(): void
  /** Waits for commands under way; gives what has to happen now that the turn is over. */
  finish(): Promise<AfterTurn>
}

export type AfterTurn = Extract<SlashOutcome, { kind: "switch" | "leave" }> | { readonly kind: "go-on" }

/** A second Ctrl+C within this time leaves. */
const FORCE_WITHIN_MS = 2000

export function createBusyInput(options: BusyInputOptions): BusyInput {
  const { session, outbox, note } = options
  const commands: Promise<void>[] = []
  const instead: string[] = []
  let after: AfterTurn = { kind: "go-on" }
  let running = true
  let interruptedAt = Number.NEGATIVE_INFINITY

  const stop = (): void => {
    if (running) session.interrupt()
  }
  const queue = (text: string): void => {
    outbox.push(text)
    note("Sent when this answer has ended.")
  }
  const send = (text: string): void => {
    if (!running) {
      outbox.push(text)
      return
    }
    const mode = options.mode()
    switch (mode) {
      case "interrupt":
        instead.push(text)
        stop()
        return
      case "queue":
        queue(text)
        return
      case "steer":
        if (session.steer(text)) note("Added to this answer.")
        else queue(text)
        return
      default:
        assertNever(mode)
    }
  }
  const carryOut = async (line: string): Promise<void> => {
    const outcome = await options.command(line)
    switch (outcome.kind) {
      case "say":
        note(outcome.text)
        return
      case "send":
        queue(outcome.text)
        return
      case "attach":
        options.attached.push(outcome.part)
        note(outcome.text)
        return
      case "switch":
      case "leave":
        after = outcome
        stop()
        return
      default:
        assertNever(outcome)
    }
  }

  return {
    line: (typed) => {
      const text = typed.trim()
      if (text === "") return
      if (isSlashLine(text)) commands.push(carryOut(text))
      else send(text)
    },
    interrupt: () => {
      const now = options.now()
      if (now - interruptedAt < FORCE_WITHIN_MS) options.force()
      interruptedAt = now
      stop()
    },
    runEnded: () => {
      running = false
    },
    finish: async () => {
      await Promise.all(commands)
      if (instead.length > 0) outbox.unshift(instead.join("\n"))
      return after
    },
  }
}
