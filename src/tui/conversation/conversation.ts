import type { App } from "../../app/app.ts"
import { isImagePath } from "../../app/services/attached-image.ts"
import type { Session } from "../../app/session/session.ts"
import { assertNever } from "../../base/assert-never.ts"
import { systemClock } from "../../base/clock.ts"
import { errorMessage } from "../../base/system-error.ts"
import { ellipsize } from "../../base/text.ts"
import type { SlashContext, SlashOutcome } from "../../commands/slash-command.ts"
import { isSlashLine, runSlashCommand } from "../../commands/slash-table.ts"
import type { PlanReady, RunEnd } from "../../protocol/events.ts"
import type { SessionId } from "../../protocol/identifiers.ts"
import type { Part, UserInput } from "../../protocol/message.ts"
import { plainText } from "../../terminal/printable-text.ts"
import { EXIT_HANGUP, EXIT_INTERRUPTED, isHangup } from "../../terminal/stop-signal.ts"
import { WOKEN } from "../chat-ui.ts"
import type { ChatUi, TurnUi } from "../chat-ui.ts"
import { createBusyInput } from "./busy-input.ts"
import type { AfterTurn, BusyInput, BusyMode } from "./busy-input.ts"

export interface ConversationOptions {
  readonly app: App
  readonly session: Session
  readonly open: (resume: SessionId | undefined) => Promise<Session>
  readonly ui: ChatUi
  readonly signal: AbortSignal
  /** Attached to the first message. */
  readonly images: readonly Part[]
  /** Messages that the user gave before the conversation was open. */
  readonly firstMessages: readonly string[]
}

interface ConversationState {
  readonly options: ConversationOptions
  readonly ui: ChatUi
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
 * Runs a conversation and returns the exit code. The user can type while a reply is being generated; Ctrl+C interrupts the reply.
 * Ctrl+C twice at the empty prompt, Ctrl+D and /quit end the conversation.
 */
export async function converse(options: ConversationOptions): Promise<number> {
  const { ui, signal } = options
  const state: ConversationState = {
    options,
    ui,
    session: options.session,
    outbox: [],
    typedEarly: [...options.firstMessages],
    attached: [...options.images],
    hintShown: false,
  }
  try {
    ui.opened(options.session, "start")
    while (await handleNextInput(state)) continue
  } finally {
    ui.close()
    await state.session.close("user_exit")
    if (state.hintShown) await options.app.rememberHint("busy_input_prompt")
  }
  for (const text of [...state.outbox, ...state.typedEarly]) ui.errLine(`Not sent: ${preview(text)}`)
  if (state.session.isStored) ui.errLine(`Continue with: hermes --resume ${state.session.id}`)
  if (!signal.aborted) return 0
  return isHangup(signal) ? EXIT_HANGUP : EXIT_INTERRUPTED
}

const MAX_PREVIEW_CHARS = 200

function preview(text: string): string {
  return ellipsize(plainText(text).replaceAll(/\s+/gu, " "), MAX_PREVIEW_CHARS)
}

/** Handles a queued message, a notice of a background process, or the next typed line. Returns false when the user quits. */
async function handleNextInput(state: ConversationState): Promise<boolean> {
  const { ui } = state
  if (state.options.signal.aborted) return false
  const queued = state.outbox.shift()
  if (queued !== undefined) {
    ui.showMessage(queued)
    return await applyOutcome(await sendMessage(queued, state), state)
  }
  const notice = state.session.background.take()
  if (notice !== undefined) {
    ui.line(`\n${notice.split("\n", 1)[0] ?? ""}`)
    return await applyOutcome(await sendMessage(notice, state, { notice: true }), state)
  }
  const typedEarly = state.typedEarly.shift()
  if (typedEarly !== undefined) ui.showMessage(typedEarly)
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
async function nextLineOrNotice({ ui, session }: ConversationState): Promise<string | undefined | typeof WOKEN> {
  const waiting = new AbortController()
  const wake = new AbortController()
  const noticed = session.background.waitForOne(waiting.signal).then(() => {
    if (!waiting.signal.aborted) wake.abort()
  })
  try {
    return await ui.next(wake.signal)
  } finally {
    waiting.abort()
    await noticed
  }
}

/** Carries out what a command or a turn asks for. Returns false when the user quits. */
async function applyOutcome(outcome: AfterTurn | SlashOutcome, state: ConversationState): Promise<boolean> {
  const { ui } = state
  switch (outcome.kind) {
    case "continue":
      return true
    case "reply":
      ui.line(outcome.text)
      return true
    case "send":
      return await applyOutcome(await sendMessage(outcome.text, state), state)
    case "switch":
      await state.session.close("session_switch")
      state.session = outcome.session
      ui.opened(outcome.session, "switch")
      ui.line(outcome.text)
      return true
    case "attach":
      state.attached.push(outcome.part)
      ui.line(outcome.text)
      return true
    case "quit":
      return false
    default:
      return assertNever(outcome)
  }
}

/** Runs a command between two turns. Ctrl+C cancels it; lines typed meanwhile are read afterwards. */
async function runCommandWhenIdle(line: string, state: ConversationState): Promise<SlashOutcome> {
  const { ui } = state
  const cancelled = new AbortController()
  const typed: string[] = []
  const signal = AbortSignal.any([state.options.signal, cancelled.signal])
  const command = ui.openCommand(line.split(/\s/u, 1)[0] ?? "", signal)
  ui.whileBusy({
    line: (text) => {
      typed.push(text)
    },
    draftChanged: (text) => {
      command.setDraft(text)
    },
    interrupt: () => {
      cancelled.abort()
    },
  })
  try {
    const { confirm, note } = command
    return await executeSlashCommand(line, state, {
      running: false,
      signal,
      ...(confirm === undefined ? {} : { confirm }),
      ...(note === undefined ? {} : { note }),
    })
  } finally {
    command.close()
    ui.whileBusy(undefined)
    ui.putBack(typed)
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
  const { session, ui } = state
  const { signal } = state.options
  const turn = ui.openTurn(session)
  const busy = listenWhileBusy(state, turn)
  let end: RunEnd | undefined
  let plan: PlanReady | undefined
  try {
    const input: UserInput = options.notice === true ? text : withImages(text, state.attached.splice(0))
    for await (const event of session.run(input, { signal, ...options })) {
      if (event.type !== "run-end") {
        if (event.type === "plan-ready") plan = event
        turn.event(event)
        continue
      }
      busy.runEnded()
      await turn.end(event)
      end = event
    }
  } finally {
    turn.close()
    ui.whileBusy(undefined)
  }
  const after = await busy.finish()
  if (end?.result.pendingSteer !== undefined)
    returnSteer(end.result.pendingSteer, { state, end, after, note: (line) => turn.note(line) })
  const mayAsk = after.kind === "continue" && state.outbox.length === 0 && !signal.aborted
  if (end?.outcome !== "plan-ready" || plan === undefined || !mayAsk) return after
  return await ui.answerPlan(session, plan, { answer: end.result.finalResponse ?? "", signal })
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
  const { outbox, ui, options } = turn.state
  const isEnding = turn.after.kind === "quit" || options.signal.aborted
  const [next, ...others] = outbox
  if (turn.end.outcome !== "interrupted" || isEnding) {
    outbox.unshift(text)
  } else if (next === undefined) {
    ui.returnToDraft(text)
    turn.note("Your note was not sent. It is in the input line: Enter sends it, Ctrl+C clears it.")
  } else {
    outbox.splice(0, outbox.length, `${text}\n${next}`, ...others)
    turn.note("Your note is sent with your next message.")
  }
}

function withImages(text: string, images: readonly Part[]): UserInput {
  return images.length === 0 ? text : [{ type: "text", text }, ...images]
}

function listenWhileBusy(state: ConversationState, turn: TurnUi): BusyInput {
  const { config } = state.options.app
  const note = (text: string): void => {
    turn.note(text)
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
  state.ui.whileBusy({
    draftChanged: (text) => {
      turn.setDraft(text)
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
