import type { App } from "../../app/app.ts"
import { isImagePath } from "../../app/services/attached-image.ts"
import type { Session } from "../../app/session/session.ts"
import { assertNever } from "../../base/assert-never.ts"
import { systemClock } from "../../base/clock.ts"
import { errorMessage } from "../../base/system-error.ts"
import type { SlashContext, SlashOutcome } from "../../commands/slash-command.ts"
import { isSlashLine, runSlashCommand } from "../../commands/slash-table.ts"
import type { ChosenModel } from "../../llm/choose-model.ts"
import type { SessionId } from "../../protocol/identifiers.ts"
import type { Part, UserInput } from "../../protocol/message.ts"
import type { Terminal } from "../terminal/terminal.ts"
import { createBusyInput } from "./busy-input.ts"
import type { AfterTurn, BusyInput, BusyMode } from "./busy-input.ts"
import { openLineReader, WOKEN } from "./line-reader.ts"
import type { LineReader } from "./line-reader.ts"
import { createQuestions } from "./questions.ts"
import { createTurnView } from "./turn-view.ts"

export interface ConversationOptions {
  readonly app: App
  readonly session: Session
  readonly open: (resume: SessionId | undefined) => Promise<Session>
  readonly terminal: Terminal
  readonly signal: AbortSignal
  readonly model: ChosenModel
  /** Attached to the first message. */
  readonly images: readonly Part[]
  /** A message that the user typed before the conversation was open; empty if there is none. */
  readonly firstMessage: string
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
 * the reply. Ctrl+C at the empty prompt, Ctrl+D and /quit end the conversation.
 */
export async function converse(options: ConversationOptions): Promise<number> {
  const { terminal, signal } = options
  // A question asked before the conversation has unreferenced standard input, which would let the process exit.
  const lines = openLineReader({ input: process.stdin.ref(), terminal, signal })
  const state: ConversationState = {
    options,
    lines,
    session: options.session,
    outbox: [],
    typedEarly: options.firstMessage === "" ? [] : [options.firstMessage],
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
  if (state.session.facts.unsaved === undefined) terminal.errLine(`Continue with: hermes --resume ${state.session.id}`)
  return 0
}

function banner({ session, model }: ConversationOptions): string {
  const { facts } = session
  const modelText =
    model.runtime.provider === "demo" ? `${facts.model} (demo, not an AI)` : `${facts.model} (${facts.provider})`
  return [
    `Hermes · ${modelText} · ${facts.cwd}`,
    facts.resumed ? `Continuing ${session.id} with ${facts.messages} messages.` : "Type a message, or /help.",
  ].join("\n")
}

function promptFor(terminal: Terminal): string {
  return terminal.color ? "\n\u{1B}[1;36myou>\u{1B}[0m " : "\nyou> "
}

/** Handles a queued message, a notice of a background process, or the next typed line. Returns false when the user quits. */
async function handleNextInput(state: ConversationState): Promise<boolean> {
  const { terminal, signal } = state.options
  if (signal.aborted) return false
  const queued = state.outbox.shift()
  if (queued !== undefined) {
    terminal.line(promptFor(terminal) + queued)
    return await applyOutcome(await sendMessage(queued, state), state)
  }
  const notice = state.session.background.take()
  if (notice !== undefined) {
    terminal.line(`\n${notice.split("\n", 1)[0] ?? ""}`)
    return await applyOutcome(await sendMessage(notice, state, { notice: true }), state)
  }
  const typedEarly = state.typedEarly.shift()
  if (typedEarly !== undefined) terminal.line(promptFor(terminal) + typedEarly)
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
async function nextLineOrNotice({
  options,
  lines,
  session,
}: ConversationState): Promise<string | undefined | typeof WOKEN> {
  const waiting = new AbortController()
  const wake = new AbortController()
  const noticed = session.background.waitForOne(waiting.signal).then(() => {
    if (!waiting.signal.aborted) wake.abort()
  })
  try {
    return await lines.next(promptFor(options.terminal), wake.signal)
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
  state.lines.whileBusy({
    line: (text) => {
      typed.push(text)
    },
    interrupt: () => {
      cancelled.abort()
    },
  })
  try {
    const signal = AbortSignal.any([state.options.signal, cancelled.signal])
    const confirm = async (question: string): Promise<boolean> => {
      const answer = await state.lines.answer(`${question} [y/N] `, { secret: false, signal })
      return /^\s*y(?:es)?\s*$/iu.test(answer ?? "")
    }
    const note = (text: string): void => {
      state.options.terminal.line(text)
    }
    return await executeSlashCommand(line, state, { running: false, signal, confirm, note })
  } finally {
    // Starts the output on a new line; the next prompt shows the draft again.
    if (state.lines.hasDraft()) state.options.terminal.line()
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
): Promise<AfterTurn> {
  const { session, lines, outbox } = state
  const { terminal, signal } = state.options
  const view = createTurnView({ terminal, progress: "stdout" })
  const note = (line: string): void => {
    view.note(line)
  }
  const busy = listenWhileBusy(state, note)
  const questions = createQuestions({
    session,
    ask: lines.answer,
    show: (event) => {
      view.event(event)
    },
    note,
  })
  try {
    const input: UserInput = options.notice === true ? text : withImages(text, state.attached.splice(0))
    for await (const event of session.run(input, { signal, ...options })) {
      if (event.type !== "run-end") {
        questions.handle(event)
        continue
      }
      busy.runEnded()
      await questions.finish()
      view.end(event)
      // A steering note that came too late for this turn becomes the next message.
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

function listenWhileBusy(state: ConversationState, note: (text: string) => void): BusyInput {
  const { config } = state.options.app
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
    line: (typed) => {
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
