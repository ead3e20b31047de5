import type { App } from "../../app/app.ts"
import type { Session } from "../../app/session.ts"
import { assertNever } from "../../base/assert-never.ts"
import { systemClock } from "../../base/clock.ts"
import { errorMessage } from "../../base/system-error.ts"
import type { SlashContext, SlashOutcome } from "../../commands/slash-command.ts"
import { isImagePath } from "../../commands/attached-image.ts"
import { isSlashLine, runSlashCommand } from "../../commands/slash-table.ts"
import type { ChosenModel } from "../../llm/choose-model.ts"
import type { SessionId } from "../../protocol/identifiers.ts"
import type { Part, UserInput } from "../../protocol/message.ts"
import type { Terminal } from "../terminal.ts"
import { createBusyInput } from "./busy-input.ts"
import type { AfterTurn, BusyInput, BusyMode } from "./busy-input.ts"
import { createQuestions } from "./questions.ts"
import { createTurnView } from "./turn-view.ts"
import { openTypedLines, WOKEN } from "./typed-lines.ts"
import type { TypedLines } from "./typed-lines.ts"

export interface ConversationOptions {
  readonly app: App
  readonly session: Session
  readonly open: (resume: SessionId | undefined) => Promise<Session>
  readonly terminal: Terminal
  readonly signal: AbortSignal
  readonly model: ChosenModel
  /** For the first message. */
  readonly images: readonly Part[]
  /** The first message, where the person has said it before the conversation was open; else empty. */
  readonly words: string
  /** Where the person types; standard input unless told. */
  readonly input?: NodeJS.ReadableStream
}

/** A conversation under way. */
interface Talk {
  readonly options: ConversationOptions
  readonly lines: TypedLines
  session: Session
  /** What the person has said already and the model has not heard yet. */
  readonly outbox: string[]
  /** Lines that were typed before the conversation was open. */
  readonly early: string[]
  /** Images for the next message of the person. */
  readonly attached: Part[]
  /** What typing does while an answer runs is explained once. */
  tipped: boolean
}

/**
 * A conversation line by line. While an answer runs the person may go on typing; Ctrl+C stops the answer. Ctrl+C at the empty
 * prompt, Ctrl+D or /quit leaves.
 */
export async function converse(options: ConversationOptions): Promise<number> {
  const { terminal, signal } = options
  // A question before the conversation has left the keyboard behind as something nobody waits for.
  const lines = openTypedLines({ input: options.input ?? process.stdin.ref(), terminal, signal })
  const talk: Talk = {
    options,
    lines,
    session: options.session,
    outbox: [],
    early: options.words === "" ? [] : [options.words],
    attached: [...options.images],
    tipped: false,
  }
  terminal.line(banner(options))
  try {
    while (await takeTurn(talk)) continue
  } finally {
    lines.close()
    await talk.session.close("user_exit")
    if (talk.tipped) await options.app.rememberHint("busy_input_prompt")
  }
  if (talk.session.facts.unsaved === undefined) terminal.errLine(`Continue with: hermes --resume ${talk.session.id}`)
  return 0
}

function banner({ session, model }: ConversationOptions): string {
  const { facts } = session
  const what =
    model.runtime.provider === "demo" ? `${facts.model} (demo, not an AI)` : `${facts.model} (${facts.provider})`
  return [
    `Hermes · ${what} · ${facts.cwd}`,
    facts.resumed ? `Continuing ${session.id} with ${facts.messages} messages.` : "Type a message, or /help.",
  ].join("\n")
}

/** The one thing on the screen that is the person's own stands out. */
function promptFor(terminal: Terminal): string {
  return terminal.color ? "\n\u{1B}[1;36myou>\u{1B}[0m " : "\nyou> "
}

/** What waits is sent first, then the next line is read. False when the person leaves. */
async function takeTurn(talk: Talk): Promise<boolean> {
  const { terminal, signal } = talk.options
  if (signal.aborted) return false
  const waiting = talk.outbox.shift()
  if (waiting !== undefined) {
    terminal.line(promptFor(terminal) + waiting)
    return await goOn(await runTurn(waiting, talk), talk)
  }
  const notice = talk.session.background.take()
  if (notice !== undefined) {
    terminal.line(`\n${notice.split("\n", 1)[0] ?? ""}`)
    return await goOn(await runTurn(notice, talk, { notice: true }), talk)
  }
  const early = talk.early.shift()
  if (early !== undefined) terminal.line(promptFor(terminal) + early)
  const line = early ?? (await nextLineOrNotice(talk))
  if (line === WOKEN) return true
  const text = line?.trim()
  if (text === undefined) return false
  if (text === "") return true
  const dropped = isImagePath(text) ? await runCommand(`/image ${text}`, talk) : undefined
  // What is no image after all is a message like any other.
  if (dropped?.kind === "attach") return await goOn(dropped, talk)
  return await goOn(isSlashLine(text) ? await runCommand(text, talk) : await runTurn(text, talk), talk)
}

/** A background process that ends while the person thinks is told at once. */
async function nextLineOrNotice({ options, lines, session }: Talk): Promise<string | undefined | typeof WOKEN> {
  const waiting = new AbortController()
  const wake = new AbortController()
  const noticed = session.background.waitForOne(waiting.signal).then(() => {
    if (!waiting.signal.aborted) wake.abort()
  })
  try {
    return await lines.nextUnlessWoken(promptFor(options.terminal), wake.signal)
  } finally {
    waiting.abort()
    await noticed
  }
}

async function goOn(outcome: AfterTurn | SlashOutcome, talk: Talk): Promise<boolean> {
  const { terminal } = talk.options
  switch (outcome.kind) {
    case "go-on":
      return true
    case "say":
      terminal.line(outcome.text)
      return true
    case "send":
      return await goOn(await runTurn(outcome.text, talk), talk)
    case "switch":
      await talk.session.close("session_switch")
      talk.session = outcome.session
      terminal.line(outcome.text)
      return true
    case "attach":
      talk.attached.push(outcome.part)
      terminal.line(outcome.text)
      return true
    case "leave":
      return false
    default:
      return assertNever(outcome)
  }
}

/** A command between the answers. Ctrl+C gives it up; what is typed meanwhile waits. */
async function runCommand(line: string, talk: Talk): Promise<SlashOutcome> {
  const givenUp = new AbortController()
  const typed: string[] = []
  talk.lines.whileBusy({
    line: (text) => {
      typed.push(text)
    },
    interrupt: () => {
      givenUp.abort()
    },
  })
  try {
    const signal = AbortSignal.any([talk.options.signal, givenUp.signal])
    const confirm = async (question: string): Promise<boolean> => {
      const answer = await talk.lines.answer(`${question} [y/N] `, { secret: false, signal })
      return /^\s*y(?:es)?\s*$/iu.test(answer ?? "")
    }
    const note = (text: string): void => {
      talk.options.terminal.line(text)
    }
    return await command(line, talk, { running: false, signal, confirm, note })
  } finally {
    // The outcome begins on a line of its own; the draft comes back with the next prompt.
    if (talk.lines.hasDraft()) talk.options.terminal.line()
    talk.lines.whileBusy(undefined)
    talk.lines.putBack(typed)
  }
}

/** A command that breaks is told; the conversation goes on. */
async function command(
  line: string,
  { options, session }: Talk,
  state: Pick<SlashContext, "running" | "signal" | "confirm" | "note">,
): Promise<SlashOutcome> {
  try {
    return await runSlashCommand(line, { app: options.app, session, open: options.open, ...state })
  } catch (error) {
    return { kind: "say", text: `That did not work: ${errorMessage(error)}` }
  }
}

async function runTurn(text: string, talk: Talk, how: { readonly notice?: boolean } = {}): Promise<AfterTurn> {
  const { session, lines, outbox } = talk
  const { terminal, signal } = talk.options
  const view = createTurnView({ terminal, progress: "stdout" })
  const note = (line: string): void => {
    view.note(line)
  }
  const busy = listenWhileBusy(talk, note)
  const questions = createQuestions({
    session,
    ask: lines.answer,
    show: (event) => {
      view.event(event)
    },
    note,
  })
  try {
    const input: UserInput = how.notice === true ? text : withImages(text, talk.attached.splice(0))
    for await (const event of session.run(input, { signal, ...how })) {
      if (event.type !== "run-end") {
        questions.pass(event)
        continue
      }
      busy.runEnded()
      await questions.finish()
      view.end(event)
      // It came too late for this answer, so it is the next message.
      if (event.result.pendingSteer !== undefined) outbox.unshift(event.result.pendingSteer)
    }
  } finally {
    lines.whileBusy(undefined)
  }
  return await busy.finish()
}

function withImages(text: string, images: readonly Part[]): UserInput {
  return images.length === 0 ? text : [{ type: "text", text }, ...images]
}

function listenWhileBusy(talk: Talk, note: (text: string) => void): BusyInput {
  const { config } = talk.options.app
  const mode = config.get("display.busy_input_mode")
  const busy = createBusyInput({
    // An image cannot be added to an answer that runs, so the words that go with it wait as well.
    mode: () => (mode === "steer" && talk.attached.length > 0 ? "queue" : mode),
    session: talk.session,
    outbox: talk.outbox,
    attached: talk.attached,
    command: (line) => command(line, talk, { running: true, signal: talk.options.signal }),
    note,
    force: () => {
      process.kill(process.pid, "SIGINT")
    },
    now: () => systemClock.now(),
  })
  talk.lines.whileBusy({
    line: (typed) => {
      busy.line(typed)
      if (talk.tipped || isSlashLine(typed) || config.get("onboarding.seen")["busy_input_prompt"] === true) return
      talk.tipped = true
      note(tipFor(mode))
    },
    interrupt: () => {
      busy.interrupt()
    },
  })
  return busy
}

function tipFor(mode: BusyMode): string {
  return `(While an answer runs, what you type ${TYPING_DOES[mode]}. display.busy_input_mode changes that; /queue and /steer work in any case.)`
}

const TYPING_DOES: Readonly<Record<BusyMode, string>> = {
  interrupt: "stops it and is answered instead",
  queue: "waits for its end",
  steer: "is added to it",
}
