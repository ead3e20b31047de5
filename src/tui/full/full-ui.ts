import type { App } from "../../app/app.ts"
import { currentBranch } from "../../app/services/current-branch.ts"
import type { Session } from "../../app/session/session.ts"
import { assertNever } from "../../base/assert-never.ts"
import { systemClock } from "../../base/clock.ts"
import { errorMessage } from "../../base/system-error.ts"
import type { DisplayControl } from "../../commands/display-control.ts"
import type { PickChoice } from "../../commands/choice-list.ts"
import type { SlashOutcome } from "../../commands/slash-command.ts"
import { isSlashLine } from "../../commands/slash-line.ts"
import type { Environment } from "../../config/environment.ts"
import type { Home } from "../../config/home.ts"
import type { PlanReady, RunEnd } from "../../protocol/events.ts"
import { raiseHangup } from "../../terminal/stop-signal.ts"
import type { Terminal } from "../../terminal/terminal.ts"
import type { BusyListener, ChatUi, CommandUi, TurnUi, TypedMessage, UiAbilities } from "../chat-ui.ts"
import type { Drawing, Row, Size } from "../drawing.ts"
import type { Editor, EditorAction } from "../editor/editor.ts"
import { noteRows } from "../render/note-rows.ts"
import type { NoteKind } from "../render/note-rows.ts"
import { queueRows } from "../render/queue-rows.ts"
import type { RowOptions } from "../render/row-options.ts"
import { FRAME_MS, waitingRow } from "../render/spinner.ts"
import { statusBar } from "../render/status-bar.ts"
import type { EndedTool } from "../render/tool-rows.ts"
import { userMessageRows } from "../render/user-message-rows.ts"
import { openScreen } from "../screen/screen.ts"
import { leaveModes, terminalTraits } from "../screen/terminal-modes.ts"
import { askBackground, backgroundFromEnvironment } from "../theme/background-color.ts"
import type { Rgb } from "../theme/color.ts"
import { colorDepth, createTheme, DARK_BACKGROUND } from "../theme/create-theme.ts"
import { DEFAULT_SKIN } from "../theme/skins.ts"
import type { Theme } from "../theme/theme.ts"
import type { ConversationParts } from "./conversation-parts.ts"
import { configureEditor, createFirstEditor } from "./full-editor.ts"
import type { FullTurn } from "./full-turn.ts"
import { createInputQueue } from "./input-queue.ts"
import { layOut } from "./live-layout.ts"
import { createModalHost } from "./modal-host.ts"
import { createScreenTerminal, textRows } from "./screen-terminal.ts"
import { firstStatus, statusOf } from "./session-status.ts"

export interface FullUiOptions {
  /** The terminal as it is without the full interface. */
  readonly lines: Terminal
  readonly home: Home
  readonly environment: Environment
  readonly signal: AbortSignal
}

/** The full interface. It draws its first frame before Hermes has started; what is typed meanwhile is sent when it has. */
export interface FullUi {
  /** Resolves when the first frame was written. */
  readonly painted: Promise<void>
  /** For what is printed and asked until the conversation begins. */
  readonly terminal: Terminal
  converse(app: App): Promise<ChatUi>
  close(): void
}

/** A second Ctrl+C at the empty prompt within this time leaves. */
const LEAVE_WITHIN_MS = 2000

export function openFullUi(options: FullUiOptions): FullUi {
  const ui = new FullInterface(options)
  return {
    // The screen draws in the next round of the event loop.
    painted: new Promise((resolve) => {
      setImmediate(() => setImmediate(resolve))
    }),
    terminal: ui.terminal,
    converse: (app) => ui.attach(app),
    close: () => ui.close(),
  }
}

interface RunningConversation {
  readonly app: App
  readonly parts: ConversationParts
  readonly display: DisplayControl
}

/** What the live area shows above the editor while the user waits. */
interface Activity {
  rows(size: Size): readonly Row[]
  readonly startedAt: number
}

class FullInterface implements ChatUi {
  readonly outbox: string[] = []
  readonly terminal
  readonly #options: FullUiOptions
  readonly #screen
  readonly #returnTerminal: () => void
  readonly #modals
  readonly #inputs
  readonly #openedAt = systemClock.now()
  readonly #editor: Editor
  readonly #traits
  #guard: { release(): void } | undefined
  #theme: Theme
  /** The background that the terminal has reported. */
  #background: Rgb | undefined
  #conversation: RunningConversation | undefined
  #session: Session | undefined
  #activity: Activity | undefined
  #showsTasks = true
  /** What the conversation has cost since it was opened here. */
  #costUsd = 0
  #lastTool: EndedTool | undefined
  #leaveRequestedAt = Number.NEGATIVE_INFINITY
  #interruptedAt = Number.NEGATIVE_INFINITY
  #lastKeyAt = systemClock.now()
  #ticker: NodeJS.Timeout | undefined
  #isClosed = false

  constructor(options: FullUiOptions) {
    this.#options = options
    const { lines, environment, signal } = options
    const variable = (name: string): string | undefined => environment.get(name)
    this.#theme = createTheme(DEFAULT_SKIN, {
      depth: lines.color ? colorDepth(variable) : "none",
      background: backgroundFromEnvironment(variable) ?? DARK_BACKGROUND,
    })
    this.#traits = terminalTraits(variable)
    this.#screen = openScreen({
      input: process.stdin.ref(),
      output: process.stdout,
      clock: systemClock,
      traits: this.#traits,
      reportFocus: true,
      foreign: [process.stdout, ...(lines.stderrIsTty ? [process.stderr] : [])],
      ended: raiseHangup,
    })
    this.terminal = createScreenTerminal(this.#screen, lines)
    this.#returnTerminal = lines.lend(() => this.#leave())
    this.#modals = createModalHost(() => {
      this.#keepTime()
      this.#changed("now")
    })
    this.#inputs = createInputQueue((message) => {
      this.showMessage(message.text)
    })
    this.#editor = createFirstEditor({
      home: options.home,
      cwd: () => this.#session?.facts.cwd ?? process.cwd(),
      queued: () => this.outbox,
      changed: () => this.#changed("now"),
    })
    this.#screen.setLive((size) => this.#draw(size))
    this.#screen.onKey((event) => {
      this.#lastKeyAt = systemClock.now()
      if (event.type === "key" && event.chord === "ctrl+z" && this.#modals.isOpen) this.#screen.suspend()
      else if (this.#modals.isOpen) this.#modals.key(event, systemClock.now())
      else {
        const action = this.#editor.key(event)
        if (action !== undefined) this.#act(action)
      }
      this.#changed("now")
    })
    signal.addEventListener("abort", this.#aborted, { once: true })
    this.#screen.update("now")
  }

  /** The settings and the home are known now. */
  async attach(app: App): Promise<ChatUi> {
    const { CONVERSATION_PARTS: parts } = await import("./conversation-parts.ts")
    const skins = this.#options.home.file("skins")
    const display = parts.createDisplayControl(app.config, {
      changed: (key) => {
        if (key === "display.skin") this.#useSkin(display.get(key))
        this.#changed("now")
      },
      skins: () => parts.skinNames(skins),
      previewSkin: (name) => this.#useSkin(name ?? display.get("display.skin")),
    })
    this.#conversation = { app, parts, display }
    this.#begin(() => this.#finishSetup(app))
    return this
  }

  async opened(session: Session, reason: "start" | "switch" | "resume"): Promise<void> {
    this.#session = session
    this.#costUsd = 0
    // The first message must not appear above it.
    if (reason === "start") await this.#showOpening(session)
    if (reason === "resume") await this.#showRecap(session)
    this.#changed("now")
  }

  next(wake: AbortSignal): ReturnType<ChatUi["next"]> {
    return this.#inputs.next(wake)
  }

  whileBusy(listener: BusyListener | undefined): void {
    this.#inputs.setListener(listener)
    this.#interruptedAt = Number.NEGATIVE_INFINITY
    this.#editor.isWorking = listener !== undefined
    this.#changed("soon")
  }

  putBack(messages: readonly TypedMessage[]): void {
    this.#inputs.putBack(messages)
  }

  returnToDraft(text: string): void {
    this.#editor.returnToDraft(text)
    this.#changed("now")
  }

  showMessage(text: string): void {
    this.#print(["", ...userMessageRows(text, { ...this.#view(), isCommand: isSlashLine(text) })])
  }

  async panel(title: string, text: string): Promise<void> {
    const { panelRows } = await import("../render/panel-rows.ts")
    this.#print(["", ...panelRows({ title, text }, this.#view())])
  }

  line(text: string): void {
    if (this.#isClosed) this.terminal.line(text)
    else this.#print(textRows(text, this.#screen.size.columns))
  }

  errLine(text: string): void {
    if (this.#isClosed) this.terminal.errLine(text)
    else this.#note(text, "warning")
  }

  redraw(): void {
    this.#screen.redraw()
  }

  startNewPage(): void {
    this.#print(Array.from({ length: this.#screen.size.rows }, () => ""))
  }

  openTurn(session: Session): TurnUi {
    const { app, parts, display } = this.#running()
    const questions = parts.createTurnQuestions({
      session,
      modals: this.#modals,
      columns: () => this.#screen.size.columns,
      now: () => systemClock.now(),
      note: (text) => this.#note(text),
      asked: (title) => this.#notify(title, session.facts.cwd),
    })
    const turn: FullTurn = parts.openFullTurn({
      session,
      config: app.config,
      display,
      theme: () => this.#theme,
      columns: () => this.#screen.size.columns,
      now: () => systemClock.now(),
      print: (rows) => this.#print(rows),
      changed: () => this.#changed("soon"),
      questions,
      showsTasks: () => this.#showsTasks,
      toolEnded: (tool) => {
        this.#lastTool = tool
      },
      ended: (end, elapsedMs) => this.#turnEnded(end, elapsedMs),
    })
    this.#start(turn)
    return {
      event: (event) => {
        if (event.type === "usage") this.#costUsd += event.costUsd ?? 0
        turn.event(event)
      },
      note: (text) => turn.note(text),
      setDraft: (text) => turn.setDraft(text),
      typed: (text) => {
        // Other messages are shown when they are sent, and in the queue until then.
        if (isSlashLine(text)) this.showMessage(text)
      },
      end: (end) => turn.end(end),
      close: () => {
        turn.close()
        this.#stop(turn)
      },
    }
  }

  get display(): DisplayControl {
    return this.#running().display
  }

  get duringTurn(): UiAbilities {
    return this.#abilities(this.#options.signal)
  }

  openCommand(name: string, signal: AbortSignal): CommandUi {
    const activity: Activity = {
      startedAt: systemClock.now(),
      rows: ({ columns }) => {
        const elapsedMs = systemClock.now() - activity.startedAt
        // A quick command shows nothing, so that the row does not flash, and one that asks waits for the user.
        return elapsedMs < 300 || this.#modals.isOpen
          ? []
          : [
              waitingRow({
                theme: this.#theme,
                columns,
                elapsedMs,
                activity: `running ${name}`,
                indicator: this.display.get("display.tui_status_indicator"),
              }),
            ]
      },
    }
    this.#start(activity)
    return {
      abilities: this.#abilities(signal),
      note: (text) => this.line(text),
      setDraft: () => undefined,
      close: () => this.#stop(activity),
    }
  }

  async answerPlan(
    session: Session,
    plan: PlanReady,
    { signal }: { readonly signal: AbortSignal },
  ): Promise<SlashOutcome> {
    const { markdownRows } = await import("../render/markdown-stream.ts")
    const { createPlanModal, approvePlan, abortPlan, PLAN_LATER } = this.#running().parts
    const openedAt = systemClock.now()
    const decided = await this.#modals.ask(
      () => createPlanModal(plan, { openedAt, render: (text, view) => markdownRows(text, view) }),
      signal,
    )
    switch (decided?.kind) {
      case "approve":
      case "ask":
        return await approvePlan(session, decided.kind)
      case "revise":
        this.showMessage(decided.text)
        return { kind: "send", text: decided.text, typed: true }
      case "abort":
        return await abortPlan(session)
      case "later":
      case undefined:
        return PLAN_LATER
      default:
        return assertNever(decided)
    }
  }

  async farewell(session: Session): Promise<void> {
    const { exitRows } = await import("./exit-rows.ts")
    this.#print(await exitRows({ app: this.#running().app, session, openedAt: this.#openedAt, ...this.#view() }))
  }

  close(): void {
    this.#leave()
    this.#guard?.release()
  }

  /** Gives the terminal back. The guard stays, because a crash may leave commands behind. */
  #leave(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    clearInterval(this.#ticker)
    this.#options.signal.removeEventListener("abort", this.#aborted)
    this.terminal.detach()
    this.#screen.close()
    this.#returnTerminal()
  }

  readonly #aborted = (): void => this.#inputs.end()

  #draw(size: Size): Drawing {
    const now = systemClock.now()
    const view = { theme: this.#theme, columns: size.columns }
    return layOut(
      {
        activity: this.#activity?.rows(size) ?? [],
        queue: queueRows(this.outbox, view),
        modal: this.#modals.isOpen
          ? (rows) => this.#modals.draw({ size: { ...size, rows }, theme: this.#theme, now })
          : undefined,
        status:
          this.#conversation?.display.get("display.status_bar") === false ? [] : statusBar(this.#status(now), view),
        editor: (rows) => this.#editor.draw({ ...size, rows }, this.#theme, now),
      },
      size,
    )
  }

  #status(now: number) {
    const sessionSeconds = (now - this.#openedAt) / 1000
    const turn = this.#activity === undefined ? undefined : (now - this.#activity.startedAt) / 1000
    const app = this.#conversation?.app
    if (app === undefined || this.#session === undefined) return firstStatus(sessionSeconds)
    return statusOf({
      app,
      session: this.#session,
      sessionSeconds,
      turn,
      queued: this.outbox.length,
      costUsd: app.config.get("display.show_cost") ? this.#costUsd : undefined,
    })
  }

  #act(action: EditorAction): void {
    switch (action.type) {
      case "submit":
        this.#leaveRequestedAt = Number.NEGATIVE_INFINITY
        this.#inputs.submit({ text: action.text, images: action.attachments.map(({ part }) => part) })
        return
      case "edit-queued": {
        const index = this.outbox.indexOf(action.original)
        if (index === -1) this.#inputs.submit({ text: action.text, images: [] })
        else this.outbox.splice(index, 1, ...(action.text.trim() === "" ? [] : [action.text]))
        return
      }
      case "interrupt":
        if (action.key === "escape") this.#escape()
        else this.#interrupt()
        return
      case "go-back":
        if (this.#inputs.listener === undefined) this.#inputs.submit({ text: "/undo list", images: [] })
        return
      case "leave":
        if (this.#inputs.listener === undefined) this.#inputs.end()
        else this.#editor.hint("A reply is being generated. Ctrl+C interrupts it, /quit leaves.")
        return
      case "suspend":
        this.#screen.suspend()
        return
      case "redraw":
        this.redraw()
        return
      case "external-editor":
        this.#begin(() => this.#editOutside())
        return
      case "toggle-tasks":
        this.#showsTasks = !this.#showsTasks
        return
      case "expand-output":
        this.#begin(() => this.#expandOutput())
        return
      case "paste-image":
        this.#begin(() => this.#pasteClipboard(action.orText))
        return
      default:
        assertNever(action)
    }
  }

  /** Ctrl+C: interrupts what runs, then clears the draft, then leaves. */
  #interrupt(): void {
    const now = systemClock.now()
    const { listener } = this.#inputs
    if (listener !== undefined) {
      // The reply may end before the second Ctrl+C arrives, which leaves in both cases.
      this.#leaveRequestedAt = now
      listener.interrupt()
      return
    }
    if (!this.#editor.isEmpty) {
      this.#leaveRequestedAt = Number.NEGATIVE_INFINITY
      this.#editor.clear()
      this.#editor.hint("Cleared. Ctrl+Z brings the text back.", LEAVE_WITHIN_MS)
      return
    }
    if (now - this.#leaveRequestedAt < LEAVE_WITHIN_MS) {
      this.#inputs.end()
      return
    }
    this.#leaveRequestedAt = now
    this.#editor.hint("Press Ctrl+C again to leave.", LEAVE_WITHIN_MS)
  }

  /** Escape interrupts too, but pressing it again does nothing worse. */
  #escape(): void {
    const now = systemClock.now()
    const { listener } = this.#inputs
    if (listener === undefined || now - this.#interruptedAt < LEAVE_WITHIN_MS) return
    this.#interruptedAt = now
    listener.interrupt()
  }

  async #editOutside(): Promise<void> {
    const { editInExternalEditor } = await import("../../admin/editor-support/external-editor.ts")
    const edited = await this.#screen.release(() => editInExternalEditor(this.#editor.text, this.#options.environment))
    if (edited.ok) this.#editor.setText(edited.value)
    else this.#editor.hint(edited.error)
    this.#changed("now")
  }

  async #pasteClipboard(orText: boolean): Promise<void> {
    const { readClipboardContent } = await import("../../admin/editor-support/clipboard-content.ts")
    const { home, environment, signal } = this.#options
    const content = await readClipboardContent({ home, environment, clock: systemClock, orText, signal })
    if (!content.ok) this.#editor.hint(content.error)
    else if (content.value.kind === "image") this.#editor.attach(content.value.image)
    else {
      const action = this.#editor.paste(content.value.text)
      if (action !== undefined) this.#act(action)
    }
    this.#changed("now")
  }

  /** Prints all that is known about the last call. What was printed cannot be unfolded. */
  async #expandOutput(): Promise<void> {
    const tool = this.#lastTool
    const app = this.#conversation?.app
    if (tool === undefined || app === undefined || this.#session === undefined) {
      this.#editor.hint("There is no tool output yet.")
      this.#changed("now")
      return
    }
    const { wholeOutputRows } = await import("./whole-output.ts")
    this.#print(await wholeOutputRows(tool, { app, session: this.#session, ...this.#view() }))
  }

  #abilities(signal: AbortSignal): UiAbilities {
    const confirm = async (question: string, offersAlways: boolean) => {
      const { createConfirmModal } = this.#running().parts
      const openedAt = systemClock.now()
      return await this.#modals.ask(() => createConfirmModal({ question, offersAlways, openedAt }), signal)
    }
    return {
      confirm: async (question) => (await confirm(question, false)) === "once",
      confirmOrAlways: async (question) => (await confirm(question, true)) ?? "cancel",
      pick: this.#picker(signal),
      copy: (text) => this.#copy(text),
    }
  }

  async #copy(text: string): Promise<string | undefined> {
    const { copySequence } = await import("../screen/notification.ts")
    const sequence = copySequence(text, { inTmux: (this.#options.environment.get("TMUX") ?? "") !== "" })
    if (sequence === undefined) return "The text is too long for the clipboard of a terminal."
    this.#screen.control(sequence)
    return undefined
  }

  #picker(signal: AbortSignal): PickChoice {
    return async (list) => {
      const { renderPreview } = await import("./render-preview.ts")
      const { createListModal } = this.#running().parts
      return await this.#modals.ask(() => createListModal(list, { renderPreview }), signal)
    }
  }

  /** Loads what the first frame did without: the keys, the history, the completions and the skin. */
  async #finishSetup(app: App): Promise<void> {
    await configureEditor(this.#editor, {
      app,
      session: () => {
        if (this.#session === undefined) throw new Error("no conversation is open yet")
        return this.#session
      },
      problem: (text) => this.errLine(text),
    })
    await this.#loadTheme(app)
    this.#changed("now")
    const { guardTerminal } = await import("../../admin/editor-support/terminal-guard.ts")
    if (!this.#isClosed) this.#guard = guardTerminal(leaveModes(this.#traits.keyboard, true))
  }

  #useSkin(name: string): void {
    this.#begin(async () => {
      await this.#loadTheme(this.#running().app, name)
      this.#changed("now")
    })
  }

  async #loadTheme(app: App, name?: string): Promise<void> {
    const { environment, home, lines, signal } = this.#options
    if (!lines.color) return
    const { loadTheme } = await import("../theme/load-theme.ts")
    const variable = (name: string): string | undefined => environment.get(name)
    const loaded = await loadTheme({
      config: app.config,
      directory: home.file("skins"),
      variable,
      ...(name === undefined ? {} : { name }),
    })
    this.#theme = this.#background === undefined ? loaded.theme : loaded.on(this.#background)
    if (loaded.problem !== undefined) this.errLine(loaded.problem)
    if (!loaded.backgroundIsGuessed || this.#background !== undefined) return
    this.#background = await askBackground(this.#screen, { clock: systemClock, signal })
    if (this.#background !== undefined) this.#theme = loaded.on(this.#background)
  }

  async #showOpening(session: Session): Promise<void> {
    const { openingRows } = await import("./opening-rows.ts")
    const rows = await openingRows({
      app: this.#running().app,
      session,
      branch: currentBranch(session.facts.cwd),
      ...this.#view(),
    })
    this.#print(rows)
  }

  async #showRecap(session: Session): Promise<void> {
    const { recentRows } = await import("./opening-rows.ts")
    this.#print(await recentRows({ app: this.#running().app, session, ...this.#view() }))
  }

  #turnEnded(end: RunEnd, elapsedMs: number): void {
    if (elapsedMs < NOTIFY_AFTER_MS && !this.#running().app.config.get("display.bell_on_complete")) return
    this.#notify(
      end.outcome === "error" ? "Hermes stopped with an error" : "Hermes has finished",
      end.result.finalResponse ?? "",
    )
  }

  /** Tells a user who looks elsewhere. */
  #notify(title: string, text: string): void {
    const app = this.#conversation?.app
    if (app === undefined) return
    this.#begin(async () => {
      const { notificationOptions, notificationSequence } = await import("../screen/notification.ts")
      const options = notificationOptions(app.config, (name) => this.#options.environment.get(name))
      const rings = app.config.get("display.bell_on_complete")
      if (this.#isWatched() && !rings) return
      this.#screen.control(notificationSequence({ title, text }, rings ? { ...options, channel: "bell" } : options))
    })
  }

  /** Where the terminal does not report the focus, a user who has just pressed a key is there. */
  #isWatched(): boolean {
    return this.#screen.focused ?? systemClock.now() - this.#lastKeyAt < NOTIFY_AFTER_MS
  }

  /** Starts work that nothing waits for. A failure is shown. */
  #begin(work: () => Promise<void>): void {
    const report = (error: unknown): void => this.errLine(errorMessage(error))
    work().catch(report)
  }

  #running(): RunningConversation {
    if (this.#conversation === undefined) throw new Error("the interface has no app yet")
    return this.#conversation
  }

  #start(activity: Activity): void {
    this.#activity = activity
    this.#keepTime()
    this.#changed("soon")
  }

  #stop(activity: Activity): void {
    if (this.#activity === activity) this.#activity = undefined
    this.#keepTime()
    this.#changed("soon")
  }

  /** Spinners and countdowns move only while there are any. */
  #keepTime(): void {
    if (this.#activity !== undefined || this.#modals.isOpen) {
      this.#ticker ??= setInterval(() => this.#changed("soon"), FRAME_MS).unref()
      return
    }
    clearInterval(this.#ticker)
    this.#ticker = undefined
  }

  #note(text: string, kind: NoteKind = "note"): void {
    this.#print(noteRows(text, { ...this.#view(), kind }))
  }

  #print(rows: readonly Row[]): void {
    if (rows.length > 0 && !this.#isClosed) this.#screen.print(rows)
  }

  #changed(when: "now" | "soon"): void {
    this.#screen.update(when)
  }

  #view(): RowOptions {
    return { theme: this.#theme, columns: this.#screen.size.columns }
  }
}

/** A shorter turn ends while the user still looks. */
const NOTIFY_AFTER_MS = 10_000
