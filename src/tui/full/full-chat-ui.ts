import type { App } from "../../app/app.ts"
import { currentBranch } from "../../app/services/current-branch.ts"
import type { Session } from "../../app/session/session.ts"
import { assertNever } from "../../base/assert-never.ts"
import { systemClock } from "../../base/clock.ts"
import { createDisplayControl } from "../../commands/display-control.ts"
import type { DisplayControl } from "../../commands/display-control.ts"
import { abortPlan, approvePlan, PLAN_LATER } from "../../commands/plan.ts"
import type { SlashOutcome } from "../../commands/slash-command.ts"
import { isSlashLine } from "../../commands/slash-line.ts"
import type { PlanReady } from "../../protocol/events.ts"
import type { BusyListener, ChatUi, CommandUi, PlanView, TurnUi, TypedMessage, UiAbilities } from "../chat-ui.ts"
import type { Row, Size } from "../drawing.ts"
import { createPlanModal } from "../modals/plan-modal.ts"
import { processRows, processSummaryRow } from "../render/process-rows.ts"
import { waitingRow } from "../render/spinner.ts"
import type { StatusBarState } from "../render/status-bar.ts"
import type { EndedTool } from "../render/tool-rows.ts"
import { userMessageRows } from "../render/user-message-rows.ts"
import { skinNames } from "../theme/load-skin.ts"
import type { Activity } from "./activity-view.ts"
import { createBranchStatus } from "./branch-status.ts"
import { commandAbilities } from "./command-abilities.ts"
import { openFullTurn } from "./full-turn.ts"
import type { ConversationView, FullUiParts } from "./full-ui-parts.ts"
import { createNotifier } from "./notifier.ts"
import { sectionMode } from "./section-mode.ts"
import { firstStatus, statusOf } from "./session-status.ts"
import { createTurnQuestions } from "./turn-questions.ts"

/** A conversation in the full interface. It is loaded after the first frame was drawn. */
export interface FullChatUi extends ChatUi, ConversationView {
  readonly session: Session
}

export function createFullChatUi(ui: FullUiParts, app: App): FullChatUi {
  return new FullConversation(ui, app)
}

/** A command that takes less shows nothing, so that the row does not flash. */
const QUICK_COMMAND_MS = 300

const MAX_PROCESS_ROWS = 5

class FullConversation implements FullChatUi {
  readonly outbox: string[]
  readonly display: DisplayControl
  readonly #ui: FullUiParts
  readonly #app: App
  readonly #notifier
  readonly #branch
  #session: Session | undefined
  #showsTasks = true
  /** What the conversation has cost since it was opened here. */
  #costUsd = 0
  #lastTool: EndedTool | undefined

  constructor(ui: FullUiParts, app: App) {
    this.#ui = ui
    this.#app = app
    this.outbox = ui.outbox
    this.#branch = createBranchStatus({ changed: () => ui.changed("soon") })
    this.#notifier = createNotifier({
      config: app.config,
      environment: ui.environment,
      screen: ui.screen,
      lastKeyAt: () => ui.lastKeyAt(),
      begin: (work) => ui.begin(work),
    })
    this.display = createDisplayControl(app.config, {
      changed: (key) => {
        if (key === "display.skin") this.#useSkin(this.display.get(key))
        ui.changed("now")
      },
      skins: () => skinNames(ui.home.file("skins")),
      previewSkin: (name) => this.#useSkin(name ?? this.display.get("display.skin")),
    })
  }

  get session(): Session {
    if (this.#session === undefined) throw new Error("no conversation is open yet")
    return this.#session
  }

  get cwd(): string {
    return this.#session?.facts.cwd ?? process.cwd()
  }

  statusBar(now: number): StatusBarState | undefined {
    if (!this.display.get("display.status_bar")) return undefined
    const { openedAt, activity, workingClock } = this.#ui
    const sessionSeconds = (now - openedAt) / 1000
    if (this.#session === undefined) return firstStatus(sessionSeconds)
    return statusOf({
      app: this.#app,
      session: this.#session,
      sessionSeconds,
      branch: this.#branch(this.#session.facts.cwd),
      turn: activity.current === undefined ? undefined : (workingClock.now() - activity.current.startedAt) / 1000,
      queued: this.outbox.length,
      costUsd: this.#app.config.get("display.show_cost") ? this.#costUsd : undefined,
    })
  }

  activityRows({ columns }: Size): readonly Row[] {
    const { config, processes } = this.#app
    const mode = sectionMode(this.display.get("display.sections.activity"), config)
    if (mode === "hidden") return []
    const running = processes.list().filter(({ state }) => state.status === "running")
    const view = { theme: this.#ui.themes.theme, columns }
    if (mode === "expanded") return processRows(running, { ...view, maxRows: MAX_PROCESS_ROWS })
    return running.length === 0 ? [] : [processSummaryRow(running, view)]
  }

  toggleTasks(): void {
    this.#showsTasks = !this.#showsTasks
  }

  async expandOutput(): Promise<void> {
    const { editor, printer } = this.#ui
    if (this.#lastTool === undefined || this.#session === undefined) {
      editor.hint("There is no tool output yet.")
      this.#ui.changed("now")
      return
    }
    const { wholeOutputRows } = await import("./whole-output.ts")
    const view = { app: this.#app, session: this.#session, ...printer.view() }
    printer.rows(await wholeOutputRows(this.#lastTool, view))
  }

  async opened(session: Session, reason: "start" | "switch" | "resume"): Promise<void> {
    this.#session = session
    this.#costUsd = 0
    const { printer } = this.#ui
    const { openingRows, recentRows } = await import("./opening-rows.ts")
    const view = { app: this.#app, session, ...printer.view() }
    // The first message must not appear above it.
    if (reason === "start") printer.rows(await openingRows({ ...view, branch: currentBranch(session.facts.cwd) }))
    if (reason === "resume") printer.rows(await recentRows(view))
    this.#ui.changed("now")
  }

  next(wake: AbortSignal): ReturnType<ChatUi["next"]> {
    return this.#ui.inputs.next(wake)
  }

  whileBusy(listener: BusyListener | undefined): void {
    const { inputs, keys, editor } = this.#ui
    inputs.setListener(listener)
    keys.activityChanged()
    editor.isWorking = listener !== undefined
    this.#ui.changed("soon")
  }

  putBack(messages: readonly TypedMessage[]): void {
    this.#ui.inputs.putBack(messages)
  }

  returnToDraft(text: string): void {
    this.#ui.editor.returnToDraft(text)
    this.#ui.changed("now")
  }

  showMessage(text: string): void {
    const { printer } = this.#ui
    printer.rows(["", ...userMessageRows(text, { ...printer.view(), isCommand: isSlashLine(text) })])
  }

  async panel(title: string, text: string): Promise<void> {
    const { panelRows } = await import("../render/panel-rows.ts")
    const { printer } = this.#ui
    printer.rows(["", ...panelRows({ title, text }, printer.view())])
  }

  line(text: string): void {
    this.#ui.printer.line(text)
  }

  errLine(text: string): void {
    this.#ui.printer.warning(text)
  }

  redraw(): void {
    this.#ui.screen.redraw()
  }

  startNewPage(): void {
    const { screen, printer } = this.#ui
    printer.rows(Array.from({ length: screen.size.rows }, () => ""))
  }

  openTurn(session: Session): TurnUi {
    const { screen, printer, modals, themes, activity, inputs, workingClock } = this.#ui
    const questions = createTurnQuestions({
      session,
      modals,
      columns: () => screen.size.columns,
      now: () => systemClock.now(),
      note: (text) => printer.note(text),
      asked: (title) => this.#notifier.questionAsked(title, session.facts.cwd),
      stopTurn: () => inputs.listener?.interrupt(),
    })
    const turn = openFullTurn({
      session,
      config: this.#app.config,
      display: this.display,
      theme: () => themes.theme,
      columns: () => screen.size.columns,
      now: () => workingClock.now(),
      print: (rows) => printer.rows(rows),
      changed: () => this.#ui.changed("soon"),
      questions,
      showsTasks: () => this.#showsTasks,
      toolEnded: (tool) => {
        this.#lastTool = tool
      },
      ended: (end, elapsedMs) => this.#notifier.turnEnded(end, elapsedMs),
    })
    activity.start(turn)
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
        activity.stop(turn)
      },
    }
  }

  get duringTurn(): UiAbilities {
    return commandAbilities(this.#ui)
  }

  openCommand(name: string, signal: AbortSignal): CommandUi {
    const { environment, screen, themes, modals, activity: view, workingClock } = this.#ui
    const activity: Activity = {
      startedAt: workingClock.now(),
      rows: ({ columns }) => {
        const elapsedMs = workingClock.now() - activity.startedAt
        // A command that asks waits for the user.
        if (elapsedMs < QUICK_COMMAND_MS || modals.isOpen) return []
        const indicator = this.display.get("display.tui_status_indicator")
        return [waitingRow({ theme: themes.theme, columns, elapsedMs, activity: `running ${name}`, indicator })]
      },
    }
    view.start(activity)
    return {
      abilities: commandAbilities({ environment, screen, modals, signal }),
      note: (text) => this.line(text),
      setDraft: () => undefined,
      close: () => view.stop(activity),
    }
  }

  async answerPlan(session: Session, plan: PlanReady, { answer, signal }: PlanView): Promise<SlashOutcome> {
    const { markdownRows } = await import("../render/markdown-stream.ts")
    const openedAt = systemClock.now()
    const decided = await this.#ui.modals.ask(
      () => createPlanModal(plan, { openedAt, answer, render: (text, view) => markdownRows(text, view) }),
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
    const { printer, openedAt } = this.#ui
    printer.rows(await exitRows({ app: this.#app, session, openedAt, ...printer.view() }))
  }

  close(): void {
    this.#ui.close()
  }

  #useSkin(name: string): void {
    this.#ui.begin(async () => {
      await this.#ui.themes.load(this.#app.config, name)
      this.#ui.changed("now")
    })
  }
}
