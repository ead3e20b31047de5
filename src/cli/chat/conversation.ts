import type { App } from "../../app/app.ts"
import { isImagePath } from "../../app/services/attached-image.ts"
import type { Session } from "../../app/session/session.ts"
import { assertNever } from "../../base/assert-never.ts"
import { systemClock } from "../../base/clock.ts"
import { errorMessage, explainSystemError } from "../../base/system-error.ts"
import { ellipsize } from "../../base/text.ts"
import type { SlashContext, SlashOutcome } from "../../commands/slash-command.ts"
import { isSlashLine, runSlashCommand } from "../../commands/slash-table.ts"
import type { ChosenModel } from "../../llm/choose-model.ts"
import type { PlanReady, RunEnd } from "../../protocol/events.ts"
import type { SessionId } from "../../protocol/identifiers.ts"
import type { Part, UserInput } from "../../protocol/message.ts"
import { EXIT_HANGUP, EXIT_INTERRUPTED, isHangup, raiseHangup } from "../stop-signal.ts"
import type { Terminal } from "../terminal/terminal.ts"
import { plainText } from "../terminal/printable-text.ts"
import { createBusyInput } from "./busy-input.ts"
import type { AfterTurn, BusyInput, BusyMode } from "./busy-input.ts"
import { openLineReader, WOKEN } from "./line-reader.ts"
import type { LineReader } from "./line-reader.ts"
import { askAboutPlan } from "./plan-prompt.ts"
import { createProgressLine } from "./progress-line.ts"
import { openPromptHistory } from "./prompt-history.ts"
import { createQuestions } from "./questions.ts"
import { withDisplaySettings } from "./turn-display.ts"
import { createTurnView } from "./turn-view.ts"
import type { TurnView } from "./turn-view.ts"

export interface ConversationOptions {
  readonly app: App
  readonly session: Session
  readonly open: (resume: SessionId | undefined) => Promise<Session>
  readonly terminal: Terminal
  readonly signal: AbortSignal
  readonly model: ChosenModel
  /** Attached to the first message. */
  readonly images: readonly Part[]
  /** Messages that the user gave before the conversation was open. */
  readonly firstMessages: readonly string[]
}

interface ConversationState {
  readonly options: ConversationOptions
  readonly lines: LineReader
  session: Session
  /** User messages that have not been sent yet, oldest first. */
  readonly outbox: string[]
  /** Lines that were typed before the conversation was open. */
  readonly typedEarly: string[]
  /** Images for the next user message. */
  readonly attached: Part[]
  /** The hint about typing during a reply was shown in this conversation. */
  hintShown: boolean
}

/**
 * Runs a conversation line by line and returns the exit code. The user can type while a reply is being generated; Ctrl+C interrupts
 * the reply. Ctrl+C twice at the empty prompt, Ctrl+D and /quit end the conversation.
 */
export async function converse(options: ConversationOptions): Promise<number> {
  const { terminal, signal } = options
  // A question asked before the conversation has unreferenced standard input, which would let the process exit.
  const lines = openLineReader({
    input: process.stdin.ref(),
    terminal,
    signal,
    history: openPromptHistory({
      path: options.app.home.file(HISTORY_FILE),
      redact: (text) => options.app.redactor.redact(text, { force: true }),
      clock: options.app.clock,
      failed: (error) => terminal.errLine(`The prompt history is not saved: ${explainSystemError(error)}.`),
    }),
    hungUp: raiseHangup,
    now: () => systemClock.now(),
  })
  const state: ConversationState = {
    options,
    lines,
    session: options.session,
    outbox: [],
    typedEarly: [...options.firstMessages],
    attached: [...options.images],
    hintShown: false,
  }
  terminal.line(banner(options))
  try {
    while (await handleNextInput(state)) continue
  } finally {
    lines.close()
    await state.session.close("user_exit")
    if (state.hintShown) await options.app.rememberHint("busy_input_prompt")
  }
  for (const text of [...state.outbox, ...state.typedEarly]) terminal.errLine(`Not sent: ${preview(text)}`)
  if (state.session.isStored) terminal.errLine(`Continue with: hermes --resume ${state.session.id}`)
  if (!signal.aborted) return 0
  return isHangup(signal) ? EXIT_HANGUP : EXIT_INTERRUPTED
}

/** The Python edition uses the same file. */
const HISTORY_FILE = ".hermes_history"

const MAX_PREVIEW_CHARS = 200

function preview(text: string): string {
  return ellipsize(plainText(text).replaceAll(/\s+/gu, " "), MAX_PREVIEW_CHARS)
}

function banner({ session, model }: ConversationOptions): string {
  const { facts } = session
  const modelText =
    model.runtime.provider === "demo" ? `${facts.model} (demo, not an AI)` : `${facts.model} (${facts.provider})`
  return [
    `Hermes · ${modelText} · ${facts.cwd}`,
    facts.resumed ? continuing(session) : "Type a message, or /help.",
  ].join("\n")
}

function continuing({ id, facts }: Session): string {
  const ending = facts.endsInterrupted ? " The last reply was interrupted." : ""
  const moved = facts.movedFrom === undefined ? "" : ` It was in ${facts.movedFrom} before.`
  return `Continuing ${id} with ${facts.messages} messages.${ending}${moved}`
}

const PROMPT = "\nyou> "

/** A message as it would look after the user typed it at the prompt. */
function typedMessage(text: string, { color }: Terminal): string {
  return (color ? "\n\u{1B}[1;36myou>\u{1B}[0m " : PROMPT) + plainText(text)
}

/** Handles a queued message, a notice of a background process, or the next typed line. Returns false when the user quits. */
async function handleNextInput(state: ConversationState): Promise<boolean> {
  const { terminal, signal } = state.options
  if (signal.aborted) return false
  const queued = state.outbox.shift()
  if (queued !== undefined) {
    terminal.styledLine(typedMessage(queued, terminal))
    return await applyOutcome(await sendMessage(queued, state), state)
  }
  const notice = state.session.background.take()
  if (notice !== undefined) {
    terminal.line(`\n${notice.split("\n", 1)[0] ?? ""}`)
    return await applyOutcome(await sendMessage(notice, state, { notice: true }), state)
  }
  const typedEarly = state.typedEarly.shift()
  if (typedEarly !== undefined) terminal.styledLine(typedMessage(typedEarly, terminal))
  const line = typedEarly ?? (await nextLineOrNotice(state))
  if (line === WOKEN) return true
  const text = line?.trim()
  if (text === undefined) return false
  if (text === "") return true
  const attachment = isImagePath(text) ? await runCommandWhenIdle(`/image ${text}`, state) : undefined
  // A path that is not an image after all is sent as a message.
  if (attachment?.kind === "attach") return await applyOutcome(attachment, state)
  return await applyOutcome(
    isSlashLine(text) ? await runCommandWhenIdle(text, state) : await sendMessage(text, state),
    state,
  )
}

/** Reads a line. A background process that ends meanwhile wakes the prompt, so that its notice is handled at once. */
async function nextLineOrNotice({ lines, session }: ConversationState): Promise<string | undefined | typeof WOKEN> {
  const waiting = new AbortController()
  const wake = new AbortController()
  const noticed = session.background.waitForOne(waiting.signal).then(() => {
    if (!waiting.signal.aborted) wake.abort()
  })
  try {
    return await lines.next(PROMPT, wake.signal)
  } finally {
    waiting.abort()
    await noticed
  }
}

/** Carries out what a command or a turn asks for. Returns false when the user quits. */
async function applyOutcome(outcome: AfterTurn | SlashOutcome, state: ConversationState): Promise<boolean> {
  const { terminal } = state.options
  switch (outcome.kind) {
    case "continue":
      return true
    case "reply":
      terminal.line(outcome.text)
      return true
    case "send":
      return await applyOutcome(await sendMessage(outcome.text, state), state)
    case "switch":
      await state.session.close("session_switch")
      state.session = outcome.session
      terminal.line(outcome.text)
      return true
    case "attach":
      state.attached.push(outcome.part)
      terminal.line(outcome.text)
      return true
    case "quit":
      return false
    default:
      return assertNever(outcome)
  }
}

/** Runs a command between two turns. Ctrl+C cancels it; lines typed meanwhile are read afterwards. */
async function runCommandWhenIdle(line: string, state: ConversationState): Promise<SlashOutcome> {
  const cancelled = new AbortController()
  const typed: string[] = []
  const progress = createProgressLine(state.options.terminal, () => systemClock.now())
  const activity = `Running ${line.split(/\s/u, 1)[0] ?? ""}`
  progress.set(activity)
  state.lines.whileBusy({
    line: (text) => {
      typed.push(text)
    },
    draftChanged: (text) => {
      progress.setDraft(text)
    },
    interrupt: () => {
      cancelled.abort()
    },
  })
  try {
    const signal = AbortSignal.any([state.options.signal, cancelled.signal])
    const confirm = async (question: string): Promise<boolean> => {
      progress.set(undefined)
      const answer = await state.lines.answer(`${question} [y/N] `, { secret: false, signal })
      progress.set(activity)
      return /^\s*y(?:es)?\s*$/iu.test(answer ?? "")
    }
    const note = (text: string): void => {
      state.options.terminal.line(text)
    }
    return await executeSlashCommand(line, state, { running: false, signal, confirm, note })
  } finally {
    progress.stop()
    state.lines.whileBusy(undefined)
    state.lines.putBack(typed)
  }
}

/** Runs a slash command. An error becomes a reply, so that the conversation continues. */
async function executeSlashCommand(
  line: string,
  { options, session }: ConversationState,
  context: Pick<SlashContext, "running" | "signal" | "confirm" | "note">,
): Promise<SlashOutcome> {
  try {
    return await runSlashCommand(line, { app: options.app, session, open: options.open, ...context })
  } catch (error) {
    return { kind: "reply", text: `The command failed: ${errorMessage(error)}` }
  }
}

/** Runs one turn of the session and shows it. */
async function sendMessage(
  text: string,
  state: ConversationState,
  options: { readonly notice?: boolean } = {},
): Promise<AfterTurn | SlashOutcome> {
  const { session, lines } = state
  const { terminal, signal } = state.options
  const view = withDisplaySettings(createTurnView({ terminal, progress: "stdout" }), state.options.app.config, terminal)
  const note = (line: string): void => {
    view.note(line)
  }
  const busy = listenWhileBusy(state, view)
  const questions = createQuestions({
    session,
    ask: lines.answer,
    columns: () => terminal.columns,
    show: (event) => {
      view.event(event)
    },
    note,
  })
  let end: RunEnd | undefined
  let plan: PlanReady | undefined
  try {
    const input: UserInput = options.notice === true ? text : withImages(text, state.attached.splice(0))
    for await (const event of session.run(input, { signal, ...options })) {
      if (event.type !== "run-end") {
        if (event.type === "plan-ready") plan = event
        questions.handle(event)
        continue
      }
      busy.runEnded()
      await questions.finish()
      view.end(event)
      end = event
    }
  } finally {
    view.close()
    lines.whileBusy(undefined)
  }
  const after = await busy.finish()
  if (end?.result.pendingSteer !== undefined) returnSteer(end.result.pendingSteer, { state, end, after, note })
  const mayAsk = after.kind === "continue" && state.outbox.length === 0 && !signal.aborted
  if (end?.outcome !== "plan-ready" || plan === undefined || !mayAsk) return after
  const answer = end.result.finalResponse ?? ""
  return await askAboutPlan(session, { plan, answer, ask: lines.answer, columns: () => terminal.columns, signal })
}

/**
 * A steering note that came too late for its turn becomes the next message. After an interrupt it is not sent by itself: it is sent
 * with the next message, or returned to the input line.
 */
function returnSteer(
  text: string,
  turn: {
    readonly state: ConversationState
    readonly end: RunEnd
    readonly after: AfterTurn
    readonly note: (line: string) => void
  },
): void {
  const { outbox, lines, options } = turn.state
  const isEnding = turn.after.kind === "quit" || options.signal.aborted
  const [next, ...others] = outbox
  if (turn.end.outcome !== "interrupted" || isEnding) {
    outbox.unshift(text)
  } else if (next === undefined) {
    lines.returnToDraft(text)
    turn.note("Your note was not sent. It is in the input line: Enter sends it, Ctrl+C clears it.")
  } else {
    outbox.splice(0, outbox.length, `${text}\n${next}`, ...others)
    turn.note("Your note is sent with your next message.")
  }
}

function withImages(text: string, images: readonly Part[]): UserInput {
  return images.length === 0 ? text : [{ type: "text", text }, ...images]
}

function listenWhileBusy(state: ConversationState, view: TurnView): BusyInput {
  const { config } = state.options.app
  const note = (text: string): void => {
    view.note(text)
  }
  const mode = config.get("display.busy_input_mode")
  const busy = createBusyInput({
    // Images cannot be added to a running turn, so a message with images is queued.
    mode: () => (mode === "steer" && state.attached.length > 0 ? "queue" : mode),
    session: state.session,
    outbox: state.outbox,
    attached: state.attached,
    command: (line) => executeSlashCommand(line, state, { running: true, signal: state.options.signal }),
    note,
    force: () => {
      process.kill(process.pid, "SIGINT")
    },
    now: () => systemClock.now(),
  })
  state.lines.whileBusy({
    draftChanged: (text) => {
      view.setDraft(text)
    },
    line: (typed) => {
      // What is typed during a reply is not echoed, so the complete line is shown once.
      if (typed.trim() !== "") note(`› ${typed.trim()}`)
      busy.line(typed)
      if (state.hintShown || isSlashLine(typed) || config.get("onboarding.seen")["busy_input_prompt"] === true) return
      state.hintShown = true
      note(busyInputHint(mode))
    },
    interrupt: () => {
      busy.interrupt()
    },
  })
  return busy
}

function busyInputHint(mode: BusyMode): string {
  return `(A message typed during a reply ${BUSY_EFFECT[mode]}. Change this with display.busy_input_mode; /queue and /steer work in every mode.)`
}

const BUSY_EFFECT: Readonly<Record<BusyMode, string>> = {
  interrupt: "interrupts it",
  queue: "is sent after it",
  steer: "is added to the running turn",
}
