import type { Environment } from "../../config/environment.ts"
import type { Home } from "../../config/home.ts"
import type { Terminal } from "../../terminal/terminal.ts"
import type { Row, Size } from "../drawing.ts"
import type { Editor } from "../editor/editor.ts"
import type { StatusBarState } from "../render/status-bar.ts"
import type { Screen } from "../screen/screen.ts"
import type { ActivityView } from "./activity-view.ts"
import type { InputQueue } from "./input-queue.ts"
import type { KeyActions } from "./key-actions.ts"
import type { ModalHost } from "./modal-host.ts"
import type { Printer } from "./printer.ts"
import type { ScreenTerminal } from "./screen-terminal.ts"
import type { ThemeControl } from "./theme-control.ts"
import type { WorkingClock } from "./working-clock.ts"

export interface FullUiOptions {
  /** The terminal as it is without the full interface. */
  readonly lines: Terminal
  readonly home: Home
  readonly environment: Environment
  readonly signal: AbortSignal
}

/** What the full interface consists of from its first frame on. */
export interface FullUiParts extends FullUiOptions {
  readonly screen: Screen
  readonly terminal: ScreenTerminal
  readonly themes: ThemeControl
  readonly printer: Printer
  readonly modals: ModalHost
  readonly inputs: InputQueue
  readonly editor: Editor
  readonly keys: KeyActions
  readonly activity: ActivityView
  readonly workingClock: WorkingClock
  /** Messages that wait for the end of the turn. */
  readonly outbox: string[]
  /** Milliseconds since the epoch. */
  readonly openedAt: number
  /** Milliseconds since the epoch. */
  lastKeyAt(): number
  /** Requests a frame. */
  changed(when: "now" | "soon"): void
  /** Starts work that nothing waits for. A failure is shown. */
  begin(work: () => Promise<void>): void
  close(): void
}

/** What the interface shows and does of an open conversation. */
export interface ConversationView {
  readonly cwd: string
  /** Undefined when the status bar is hidden. */
  statusBar(now: number): StatusBarState | undefined
  /** The background processes, if they are shown. */
  activityRows(size: Size): readonly Row[]
  toggleTasks(): void
  /** Prints all that is known about the last call. What was printed cannot be unfolded. */
  expandOutput(): Promise<void>
}
