import type { App } from "../../app/app.ts"
import { systemClock } from "../../base/clock.ts"
import { errorMessage } from "../../base/system-error.ts"
import type { PickChoice } from "../../commands/choice-list.ts"
import { isSlashLine } from "../../commands/slash-line.ts"
import { raiseHangup } from "../../terminal/stop-signal.ts"
import type { Terminal } from "../../terminal/terminal.ts"
import type { ChatUi } from "../chat-ui.ts"
import type { Drawing, Size } from "../drawing.ts"
import type { Editor } from "../editor/editor.ts"
import { isTextEdit } from "../modals/text-field.ts"
import { queueRows } from "../render/queue-rows.ts"
import { statusBar } from "../render/status-bar.ts"
import { userMessageRows } from "../render/user-message-rows.ts"
import type { KeyEvent } from "../screen/key-event.ts"
import { openScreen } from "../screen/screen.ts"
import { leaveModes, terminalTraits } from "../screen/terminal-modes.ts"
import { createActivityView } from "./activity-view.ts"
import type { FullChatUi } from "./full-chat-ui.ts"
import { configureEditor, createFirstEditor } from "./full-editor.ts"
import type { FullUiOptions, FullUiParts } from "./full-ui-parts.ts"
import { createInputQueue } from "./input-queue.ts"
import { createKeyActions } from "./key-actions.ts"
import { layOut } from "./live-layout.ts"
import { createModalHost } from "./modal-host.ts"
import { createPrinter } from "./printer.ts"
import { createScreenTerminal } from "./screen-terminal.ts"
import { firstStatus } from "./session-status.ts"
import { createThemeControl } from "./theme-control.ts"
import { createWorkingClock } from "./working-clock.ts"

/** The full interface. It draws its first frame before Hermes has started; what is typed meanwhile is sent when it has. */
export interface FullUi {
  /** Resolves when the first frame was written. */
  readonly painted: Promise<void>
  /** For what is printed and asked until the conversation begins. */
  readonly terminal: Terminal
  /** Shows a list before the conversation begins. */
  readonly pick: PickChoice
  converse(app: App): Promise<ChatUi>
  close(): void
}

export function openFullUi(options: FullUiOptions): FullUi {
  const ui = new FullInterface(options)
  return {
    // The screen draws in the next round of the event loop.
    painted: new Promise((resolve) => {
      setImmediate(() => setImmediate(resolve))
    }),
    terminal: ui.terminal,
    pick: async (list) => {
      const { commandAbilities } = await import("./command-abilities.ts")
      return await commandAbilities(ui).pick?.(list)
    },
    converse: (app) => ui.converse(app),
    close: () => ui.close(),
  }
}

class FullInterface implements FullUiParts {
  readonly lines
  readonly home
  readonly environment
  readonly signal
  readonly screen
  readonly terminal
  readonly themes
  readonly printer
  readonly modals
  readonly workingClock
  readonly inputs
  readonly editor: Editor
  readonly keys
  readonly activity
  readonly outbox: string[] = []
  readonly openedAt = systemClock.now()
  readonly #traits
  readonly #returnTerminal: () => void
  #guard: { release(): void } | undefined
  #chat: FullChatUi | undefined
  #lastKeyAt = systemClock.now()
  #isClosed = false

  constructor({ lines, home, environment, signal }: FullUiOptions) {
    this.lines = lines
    this.home = home
    this.environment = environment
    this.signal = signal
    this.#traits = terminalTraits((name) => environment.get(name))
    this.screen = openScreen({
      input: process.stdin.ref(),
      output: process.stdout,
      clock: systemClock,
      traits: this.#traits,
      reportFocus: true,
      identify: true,
      foreign: [process.stdout, ...(lines.stderrIsTty ? [process.stderr] : [])],
      ended: raiseHangup,
    })
    this.terminal = createScreenTerminal(this.screen, lines)
    this.#returnTerminal = lines.lend(() => this.#leave())
    this.themes = createThemeControl({
      home,
      environment,
      signal,
      color: lines.color,
      screen: this.screen,
      problem: (text) => this.printer.warning(text),
    })
    this.printer = createPrinter({ screen: this.screen, terminal: this.terminal, theme: () => this.themes.theme })
    this.modals = createModalHost({
      changed: () => {
        this.workingClock.questionsChanged()
        this.activity.questionsChanged()
        this.changed("now")
      },
      unused: (event) => {
        if (isTextEdit(event)) this.editor.key(event)
        // The user sends lines of a message, not seeing the question yet.
        else if (event.type === "key" && event.chord === "enter" && this.editor.text.trim() !== "")
          this.editor.setText(`${this.editor.text.trimEnd()}\n`)
      },
      unsent: (text) => this.editor.returnToDraft(text),
    })
    this.workingClock = createWorkingClock(() => this.modals.isOpen)
    this.activity = createActivityView({
      isAsking: () => this.modals.isOpen,
      changed: () => this.changed("soon"),
    })
    this.inputs = createInputQueue(({ text }) => {
      const view = { ...this.printer.view(), isCommand: isSlashLine(text) }
      this.printer.rows(["", ...userMessageRows(text, view)])
    })
    this.editor = createFirstEditor({
      home,
      cwd: () => this.#chat?.cwd ?? process.cwd(),
      queued: () => this.outbox,
      changed: () => this.changed("now"),
    })
    this.keys = createKeyActions({
      home,
      environment,
      signal,
      screen: this.screen,
      editor: this.editor,
      inputs: this.inputs,
      outbox: this.outbox,
      toggleTasks: () => this.#chat?.toggleTasks(),
      expandOutput: async () => await this.#chat?.expandOutput(),
      changed: () => this.changed("now"),
      begin: (work) => this.begin(work),
    })
    this.screen.setLive((size) => this.#draw(size))
    this.screen.onKey((event) => this.#key(event))
    signal.addEventListener("abort", this.#aborted, { once: true })
    this.changed("now")
  }

  async converse(app: App): Promise<ChatUi> {
    const { createFullChatUi } = await import("./full-chat-ui.ts")
    const chat = createFullChatUi(this, app)
    this.#chat = chat
    this.begin(() => this.#finishSetup(app, chat))
    return chat
  }

  lastKeyAt(): number {
    return this.#lastKeyAt
  }

  changed(when: "now" | "soon"): void {
    this.screen.update(when)
  }

  begin(work: () => Promise<void>): void {
    work().catch((error: unknown) => this.printer.warning(errorMessage(error)))
  }

  close(): void {
    this.#leave()
    this.#guard?.release()
  }

  /** Gives the terminal back. The guard stays, because a crash may leave commands behind. */
  #leave(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.printer.close()
    this.activity.close()
    this.signal.removeEventListener("abort", this.#aborted)
    this.terminal.detach()
    this.screen.close()
    this.#returnTerminal()
  }

  readonly #aborted = (): void => this.inputs.end()

  #key(event: KeyEvent): void {
    this.#lastKeyAt = systemClock.now()
    if (event.type === "key" && event.chord === "ctrl+z" && this.modals.isOpen) this.screen.suspend()
    else if (this.modals.isOpen) this.modals.key(event, systemClock.now())
    else {
      const action = this.editor.key(event)
      if (action !== undefined) this.keys.run(action)
    }
    this.changed("now")
  }

  #draw(size: Size): Drawing {
    const now = systemClock.now()
    const { theme } = this.themes
    const view = { theme, columns: size.columns }
    const status = this.#chat === undefined ? firstStatus((now - this.openedAt) / 1000) : this.#chat.statusBar(now)
    return layOut(
      {
        activity: [...(this.activity.current?.rows(size) ?? []), ...(this.#chat?.activityRows(size) ?? [])],
        queue: queueRows(this.outbox, view),
        modal: this.modals.isOpen ? (rows) => this.modals.draw({ size: { ...size, rows }, theme, now }) : undefined,
        status: status === undefined ? [] : statusBar(status, view),
        editor: (rows) => this.editor.draw({ ...size, rows }, theme, now),
      },
      size,
    )
  }

  /** Loads what the first frame did without: the keys, the history, the completions and the skin. */
  async #finishSetup(app: App, chat: FullChatUi): Promise<void> {
    await configureEditor(this.editor, {
      app,
      session: () => chat.session,
      problem: (text) => this.printer.warning(text),
    })
    await this.themes.load(app.config)
    this.changed("now")
    const { guardTerminal } = await import("../../admin/editor-support/terminal-guard.ts")
    if (!this.#isClosed) this.#guard = guardTerminal(leaveModes(this.#traits.keyboard, true))
  }
}
