import type { App } from "../../app/app.ts"
import { pastesIn } from "../../app/input/expand-pastes.ts"
import { INTERRUPTED_BEFORE_SENDING, NOT_SENT } from "../../app/input/not-sent.ts"
import { shellLineCommand } from "../../app/input/shell-input.ts"
import { isImagePath } from "../../app/services/attached-image.ts"
import type { Session } from "../../app/session/session.ts"
import { assertNever } from "../../base/assert-never.ts"
import { systemClock } from "../../base/clock.ts"
import { errorMessage } from "../../base/system-error.ts"
import { ellipsize } from "../../base/text.ts"
import { asSentence } from "../../base/sentence.ts"
import type { SlashContext, SlashOutcome } from "../../commands/slash-command.ts"
import { isSlashLine } from "../../commands/slash-line.ts"
import { runSlashCommand } from "../../commands/slash-table.ts"
import type { PlanReady, RunEnd } from "../../protocol/events.ts"
import type { Part, UserInput } from "../../protocol/message.ts"
import { plainText } from "../../terminal/printable-text.ts"
import { EXIT_HANGUP, EXIT_INTERRUPTED, isHangup } from "../../terminal/stop-signal.ts"
import { WOKEN } from "../chat-ui.ts"
import type { ChatUi, TurnUi, TypedMessage, UiAbilities } from "../chat-ui.ts"
import { handleTaskNews, leaveTasks, showTaskQuestions, taskControl } from "./background-tasks.ts"
import { createBusyInput } from "./busy-input.ts"
import type { AfterTurn, BusyInput, BusyMode } from "./busy-input.ts"
import { noticeHeadline } from "./notice-headline.ts"

export interface ConversationOptions {
  readonly app: App
  readonly session: Session
  readonly open: SlashContext["open"]
  readonly keepModel: NonNullable<SlashContext["keepModel"]>
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
  readonly typedEarly: TypedMessage[]
  /** Images for the next user message. */
  readonly attached: Part[]
  /** Messages that wait until a model is connected. */
  readonly withoutModel: TypedMessage[]
  /** The hint about typing during a reply was shown in this conversation. */
  hintShown: boolean
  /** Queued messages that the user did not type: references and commands in them are text. */
  readonly notTyped: Set<string>
  /** Runs when the session is closed. */
  afterClose: (() => Promise<string>) | undefined
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
    outbox: ui.outbox,
    typedEarly: options.firstMessages.map((text) => ({ text, images: [] })),
    attached: [...options.images],
    withoutModel: [],
    hintShown: false,
    notTyped: new Set(),
    afterClose: undefined,
  }
  try {
    await ui.opened(options.session, "start")
    showOpeningWarnings(state)
    await announceSurvivors(state)
    while (await handleNextInput(state)) continue
    await leaveTasks(state)
  } finally {
    await farewell(state)
    ui.close()
    await state.session.close("user_exit")
    const said = await state.afterClose?.()
    if (said !== undefined) ui.line(said)
    if (state.hintShown) await options.app.rememberHint("busy_input_prompt")
  }
  if (!signal.aborted) return 0
  return isHangup(signal) ? EXIT_HANGUP : EXIT_INTERRUPTED
}

/** Without this, a user who only looks would not see what went wrong before the first answer. */
function showOpeningWarnings({ ui, session }: ConversationState): void {
  for (const warning of session.takeOpeningWarnings()) ui.line(asSentence(warning))
}

/** Processes that a killed Hermes has left running, and how to end them. */
async function announceSurvivors({ ui, options: { app } }: ConversationState): Promise<void> {
  const survivors = await app.processes.survivors()
  for (const { command, pid } of survivors.slice(0, MAX_SURVIVORS))
    ui.line(`A background process of an earlier Hermes still runs: ${preview(command)} (pid ${pid}). /stop ends it.`)
  const more = survivors.length - MAX_SURVIVORS
  if (more > 0) ui.line(`${more} more of them still run; /stop ends them too.`)
  // From now on they are counted and listed like those of this Hermes.
  if (survivors.length > 0) await app.processes.open()
}

const MAX_SURVIVORS = 5

async function farewell({ ui, session, outbox, typedEarly }: ConversationState): Promise<void> {
  for (const text of [...outbox, ...typedEarly.map((typed) => typed.text)]) ui.errLine(`Not sent: ${preview(text)}`)
  try {
    await ui.farewell(session)
  } catch (error) {
    ui.errLine(errorMessage(error))
  }
}

const MAX_PREVIEW_CHARS = 200

function preview(text: string): string {
  return ellipsize(plainText(text).replaceAll(/\s+/gu, " "), MAX_PREVIEW_CHARS)
}

/** Handles a queued message, a notice of a background process, or the next typed line. Returns false when the user quits. */
async function handleNextInput(state: ConversationState): Promise<boolean> {
  const { ui } = state
  if (state.options.signal.aborted) return false
  returnWithoutModel(state)
  const queued = state.outbox.shift()
  if (queued !== undefined) {
    ui.showMessage(queued)
    if (state.notTyped.delete(queued)) return await applyOutcome(await sendMessage(queued, state), state)
    return await applyOutcome(await sendTyped(queued, state), state)
  }
  if (await handleTaskNews(state)) return true
  const note = state.session.userNotes?.take()
  if (note !== undefined) {
    ui.line(note)
    return true
  }
  const notice = state.session.background.take()
  if (notice !== undefined) {
    ui.line(`\n${noticeHeadline(notice)}`)
    return await applyOutcome(await sendMessage(notice, state, { notice: true }), state)
  }
  const typedEarly = state.typedEarly.shift()
  if (typedEarly !== undefined) ui.showMessage(typedEarly.text)
  const typed = typedEarly ?? (await nextMessageOrNotice(state))
  if (typed === WOKEN) return true
  if (typed === undefined) return false
  const text = typed.text.trim()
  state.attached.push(...typed.images)
  if (text === "" && typed.images.length === 0) return true
  // Nobody sends these to a model, and they end almost every other program in a terminal.
  if (/^(?:exit|quit)$/iu.test(text)) return false
  const attachment = isImagePath(text) ? await runCommandWhenIdle(`/image ${text}`, state) : undefined
  // A path that is not an image after all is sent as a message.
  if (attachment?.kind === "attach") return await applyOutcome(attachment, state)
  return await applyOutcome(
    isSlashLine(text) ? await runCommandWhenIdle(text, state) : await sendTyped(text, state),
    state,
  )
}

/** Reads a message. A background process that ends meanwhile wakes the prompt, so that its notice is handled at once. */
async function nextMessageOrNotice({
  ui,
  session,
  options: { app },
}: ConversationState): Promise<TypedMessage | undefined | typeof WOKEN> {
  const waiting = new AbortController()
  const wake = new AbortController()
  const either = [
    session.background.waitForOne(waiting.signal),
    app.backgroundTasks.waitForNews(waiting.signal),
    ...(session.userNotes === undefined ? [] : [session.userNotes.waitForOne(waiting.signal)]),
  ]
  const noticed = Promise.race(either).then(() => {
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
      if (outcome.text !== "") ui.line(outcome.text)
      return true
    case "send":
      state.attached.push(...(outcome.images ?? []))
      return await applyOutcome(await sendMessage(outcome.text, state, { typed: outcome.typed === true }), state)
    case "edit":
      ui.returnToDraft(outcome.draft)
      if (outcome.text !== "") ui.line(outcome.text)
      return true
    case "redraw":
      ui.redraw()
      return true
    case "switch":
      await state.session.close(endReason(outcome))
      state.session = outcome.session
      if (outcome.clearsScreen === true) ui.startNewPage()
      await ui.opened(outcome.session, outcome.isResumed === true ? "resume" : "switch")
      ui.line(outcome.text)
      showOpeningWarnings(state)
      return true
    case "attach":
      state.attached.push(outcome.part)
      ui.line(outcome.text)
      return true
    case "quit":
      state.afterClose = outcome.afterClose
      return false
    default:
      return assertNever(outcome)
  }
}

/** How the conversation ended that another one replaces; the Python edition uses the same words. */
function endReason(outcome: Extract<SlashOutcome, { kind: "switch" }>): string {
  if (outcome.isBranch === true) return "branched"
  return outcome.isResumed === true ? "resumed_other" : "new_session"
}

/** Runs a command between two turns. Ctrl+C cancels it; lines typed meanwhile are read afterwards. */
async function runCommandWhenIdle(line: string, state: ConversationState): Promise<SlashOutcome> {
  const { ui } = state
  const cancelled = new AbortController()
  const typed: TypedMessage[] = []
  const signal = AbortSignal.any([state.options.signal, cancelled.signal])
  const command = ui.openCommand(line.split(/\s/u, 1)[0] ?? "", signal)
  ui.whileBusy({
    line: (message) => {
      typed.push(message)
    },
    draftChanged: (text) => {
      command.setDraft(text)
    },
    interrupt: () => {
      cancelled.abort()
    },
  })
  try {
    return await executeSlashCommand(line, state, {
      running: false,
      signal,
      note: (text) => command.note(text),
      ...command.abilities,
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
  { options, session, ui }: ConversationState,
  context: Pick<SlashContext, "running" | "signal" | "note"> & UiAbilities,
): Promise<SlashOutcome> {
  try {
    return await runSlashCommand(line, {
      app: options.app,
      session,
      open: options.open,
      keepModel: options.keepModel,
      display: ui.display,
      ...taskControl(options.app, session),
      ...context,
    })
  } catch (error) {
    return { kind: "reply", text: `The command failed: ${errorMessage(error)}` }
  }
}

/** Runs a command that begins with `!`, or sends a message. */
async function sendTyped(text: string, state: ConversationState): Promise<AfterTurn | SlashOutcome> {
  const command = shellLineCommand(text)
  return command === undefined ? await sendMessage(text, state, { typed: true }) : await runUserCommand(command, state)
}

/** Runs a command of the user and shows its output. The model does not see it. */
async function runUserCommand(command: string, state: ConversationState): Promise<AfterTurn> {
  const { session, ui } = state
  const turn = ui.openTurn(session)
  const endTaskQuestions = showTaskQuestions(state.options.app, turn)
  const busy = listenWhileBusy(state, turn, "queue")
  let output = ""
  try {
    for await (const event of session.runCommand(command, { signal: state.options.signal })) {
      if (event.type !== "run-end") {
        turn.event(event)
        continue
      }
      busy.runEnded()
      output = event.result.finalResponse ?? ""
      // The output is not Markdown.
      await turn.end({ ...event, result: { ...event.result, finalResponse: null } })
    }
  } finally {
    endTaskQuestions()
    turn.close()
    ui.whileBusy(undefined)
  }
  if (output !== "") ui.line(output)
  return await busy.finish()
}

/** Runs one turn of the session and shows it. */
async function sendMessage(
  text: string,
  state: ConversationState,
  options: { readonly notice?: boolean; readonly typed?: boolean } = {},
): Promise<AfterTurn | SlashOutcome> {
  const { session, ui } = state
  const { signal } = state.options
  const turn = ui.openTurn(session)
  const endTaskQuestions = showTaskQuestions(state.options.app, turn)
  const busy = listenWhileBusy(state, turn)
  let end: RunEnd | undefined
  let plan: PlanReady | undefined
  const images = options.notice === true ? [] : state.attached.splice(0)
  try {
    const input: UserInput = withImages(text, images)
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
    endTaskQuestions()
    turn.close()
    ui.whileBusy(undefined)
  }
  const after = await busy.finish()
  if (end !== undefined && RETURNED.has(end.result.exitReason)) {
    if (session.facts.modelProblem === undefined) {
      state.attached.unshift(...images)
      ui.returnToDraft(text)
    } else {
      // In the draft it would be in the way of /model.
      state.withoutModel.push({ text, images })
      ui.line("Your message comes back to the input line when a model is connected.")
    }
  }
  if (end !== undefined && isDiscarded(end)) announceKeptPastes(text, state)
  if (end?.result.pendingSteer !== undefined)
    returnSteer(end.result.pendingSteer, { state, end, after, note: (line) => turn.note(line) })
  const mayAsk = after.kind === "continue" && state.outbox.length === 0 && !signal.aborted
  if (end?.outcome !== "plan-ready" || plan === undefined || !mayAsk) return after
  return await ui.answerPlan(session, plan, { answer: end.result.finalResponse ?? "", signal })
}

/** A model is connected now: what could not be sent before is in the input line again. */
function returnWithoutModel({ session, ui, withoutModel, attached }: ConversationState): void {
  if (withoutModel.length === 0 || session.facts.modelProblem !== undefined) return
  const messages = withoutModel.splice(0)
  attached.push(...messages.flatMap(({ images }) => images))
  ui.returnToDraft(messages.map(({ text }) => text).join("\n"))
}

/** The message is too large for the model and was removed from the conversation again. */
function isDiscarded({ result }: RunEnd): boolean {
  return result.exitReason === "message_too_large" && result.messages.at(-1)?.role !== "user"
}

/** The text of a message that was not kept may exist nowhere else. */
function announceKeptPastes(message: string, { ui, options }: ConversationState): void {
  for (const path of pastesIn(message, options.app.home))
    ui.line(`The pasted text is kept for a week in ${path}. Copy it into your project to work with parts of it.`)
}

/** The message was not stored: the user can change and send it again. */
const RETURNED: ReadonlySet<string> = new Set([NOT_SENT, INTERRUPTED_BEFORE_SENDING])

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

function listenWhileBusy(state: ConversationState, turn: TurnUi, always?: BusyMode): BusyInput {
  const { config } = state.options.app
  const note = (text: string): void => {
    turn.note(text)
  }
  const busyMode = (): BusyMode => always ?? state.ui.display.get("display.busy_input_mode")
  const busy = createBusyInput({
    // Images cannot be added to a running turn, so a message with images is queued.
    mode: () => (busyMode() === "steer" && state.attached.length > 0 ? "queue" : busyMode()),
    session: state.session,
    outbox: state.outbox,
    attached: state.attached,
    command: (line) =>
      executeSlashCommand(line, state, {
        running: true,
        signal: state.options.signal,
        ...state.ui.duringTurn,
      }),
    note,
    notTyped: (text) => {
      state.notTyped.add(text)
    },
    edit: (draft) => {
      state.ui.returnToDraft(draft)
    },
    redraw: () => {
      state.ui.redraw()
    },
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
      turn.typed(typed.text)
      busy.line(typed)
      if (state.hintShown || isSlashLine(typed.text) || config.get("onboarding.seen")["busy_input_prompt"] === true)
        return
      state.hintShown = true
      note(busyInputHint(busyMode()))
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
