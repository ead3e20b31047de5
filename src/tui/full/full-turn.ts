import type { Session } from "../../app/session/session.ts"
import { assertNever } from "../../base/assert-never.ts"
import type { DisplayControl } from "../../commands/display-control.ts"
import type { Config } from "../../config/load-config.ts"
import type { RunEnd, ToolStart } from "../../protocol/events.ts"
import { createPlainStream } from "../../terminal/printable-text.ts"
import { shownStatus } from "../conversation/shown-status.ts"
import { unseenPart } from "../conversation/unseen-part.ts"
import type { LiveEvent, TurnUi } from "../chat-ui.ts"
import type { Row, Size } from "../drawing.ts"
import type { MarkdownStream } from "../render/markdown-stream.ts"
import { noteRows } from "../render/note-rows.ts"
import { reasoningRows, reasoningTail } from "../render/reasoning-rows.ts"
import { waitingRow } from "../render/spinner.ts"
import { createSubagentTree, expandedSubagentRows, subagentRows } from "../render/subagent-rows.ts"
import type { SubagentRowOptions } from "../render/subagent-rows.ts"
import { todoRows } from "../render/todo-rows.ts"
import { createToolFilter } from "../render/tool-filter.ts"
import { endedToolRows, runningToolRows } from "../render/tool-rows.ts"
import type { EndedTool, RunningTool } from "../render/tool-rows.ts"
import type { Theme } from "../theme/theme.ts"
import { sectionMode } from "./section-mode.ts"
import type { TurnQuestions } from "./turn-questions.ts"

export interface FullTurnOptions {
  readonly session: Pick<Session, "todo">
  readonly config: Pick<Config, "get">
  readonly display: Pick<DisplayControl, "get">
  readonly theme: () => Theme
  readonly columns: () => number
  /** The working clock, which stands still while a question is open. */
  readonly now: () => number
  readonly print: (rows: readonly Row[]) => void
  readonly changed: () => void
  readonly questions: TurnQuestions
  readonly showsTasks: () => boolean
  /** The last call that ended, shown or not, for the key that shows its output. */
  readonly toolEnded: (tool: EndedTool) => void
  readonly ended: (end: RunEnd, elapsedMs: number) => void
}

/** A turn in the full UI: finished parts are printed, the rest is drawn in the live area. */
export interface FullTurn extends TurnUi {
  readonly startedAt: number
  rows(size: Size): readonly Row[]
}

export function openFullTurn(options: FullTurnOptions): FullTurn {
  return new Turn(options)
}

class Turn implements FullTurn {
  readonly startedAt: number
  readonly #options: FullTurnOptions
  readonly #isToolShown
  readonly #running = new Map<string, RunningTool>()
  /** Running calls that are not shown. */
  readonly #hidden = new Map<string, ToolStart>()
  readonly #subagents
  readonly #shownMessages: string[] = []
  readonly #showsReasoning: boolean
  readonly #streams: boolean
  readonly #loaded: Promise<void>
  /** Undefined until the renderer is loaded; events wait for it. */
  #markdown: MarkdownStream | undefined
  #held: LiveEvent[] = []
  #plain = createPlainStream()
  #reasoning = ""
  #isThinking = false
  /** The current message has printed rows. */
  #hasText = false
  #activitySince: number
  #isOver = false

  constructor(options: FullTurnOptions) {
    this.#options = options
    this.startedAt = options.now()
    this.#subagents = createSubagentTree(options.now)
    this.#activitySince = this.startedAt
    this.#isToolShown = createToolFilter(options.display.get("display.tool_progress"))
    this.#showsReasoning = options.display.get("display.show_reasoning")
    this.#streams = options.config.get("display.streaming")
    this.#loaded = this.#load()
  }

  async #load(): Promise<void> {
    const { createMarkdownStream } = await import("../render/markdown-stream.ts")
    this.#markdown = createMarkdownStream({ theme: this.#options.theme(), columns: this.#options.columns })
    for (const event of this.#held.splice(0)) this.#show(event, this.#markdown)
    this.#options.changed()
  }

  rows({ columns }: Size): readonly Row[] {
    if (this.#isOver) return []
    const { session, theme: themeOf, now } = this.#options
    const theme = themeOf()
    const tail = this.#markdown?.tail() ?? []
    const view = { theme, columns, now: now() }
    const running = runningToolRows([...this.#running.values()], view)
    const waits = tail.length === 0 && running.length === 0
    return [
      ...(tail.length === 0 ? [] : this.#separated(tail)),
      ...(this.#showsReasoning ? reasoningTail(this.#reasoning, view) : []),
      ...running,
      ...this.#subagentRows(view),
      ...(this.#options.showsTasks() ? todoRows(session.todo(), view) : []),
      ...(waits ? [this.#waitingRow(theme, columns)] : []),
    ]
  }

  #subagentRows(view: SubagentRowOptions): readonly Row[] {
    const { display, config } = this.#options
    const mode = sectionMode(display.get("display.sections.subagents"), config)
    if (mode === "hidden") return []
    return mode === "expanded" ? expandedSubagentRows(this.#subagents, view) : subagentRows(this.#subagents, view)
  }

  event(event: LiveEvent): void {
    this.#options.questions.handle(event)
    if (this.#markdown === undefined) this.#held.push(event)
    else this.#show(event, this.#markdown)
    this.#options.changed()
  }

  note(text: string): void {
    this.#print(noteRows(text, this.#view("note")))
  }

  setDraft(): void {
    // The editor shows what the user types.
  }

  typed(): void {
    // A message is shown when it is sent, and until then in the list of waiting ones.
  }

  async end(end: RunEnd): Promise<void> {
    this.#options.questions.close()
    await this.#loaded
    this.#finishReasoning()
    this.#finishMessage()
    if (end.outcome === "interrupted") this.note("Interrupted.")
    else {
      const unseen = unseenPart(end.result.finalResponse ?? "", this.#shownMessages)
      if (unseen !== "" && this.#markdown !== undefined) {
        this.#feed(unseen, this.#markdown)
        this.#finishMessage()
      }
      for (const note of end.result.notes ?? []) this.note(note)
      if (end.result.error !== undefined)
        this.#print(noteRows(`Error: ${end.result.error.message}`, this.#view("error")))
    }
    this.#options.ended(end, this.#options.now() - this.startedAt)
    this.close()
  }

  close(): void {
    this.#isOver = true
    this.#options.questions.close()
    this.#options.changed()
  }

  #show(event: LiveEvent, markdown: MarkdownStream): void {
    const wasThinking = this.#isThinking
    this.#isThinking = event.type === "reasoning-delta"
    if (wasThinking && !this.#isThinking) this.#finishReasoning()
    switch (event.type) {
      case "text-delta":
        if (this.#streams) this.#feed(event.text, markdown)
        return
      case "reasoning-delta":
        this.#reasoning += event.text
        return
      case "message-end":
        if (!event.streamed || !this.#streams) this.#feed(event.message.text, markdown)
        this.#shownMessages.push(event.message.text)
        this.#finishMessage()
        this.#activitySince = this.#options.now()
        return
      case "tool-start":
        if (this.#isToolShown(event)) this.#running.set(event.call.id, { start: event, startedAt: this.#options.now() })
        else this.#hidden.set(event.call.id, event)
        return
      case "tool-progress": {
        const tool = this.#running.get(event.callId)
        if (tool !== undefined) this.#running.set(event.callId, { ...tool, output: event.text })
        return
      }
      case "tool-end": {
        const { id } = event.call
        const shown = this.#running.get(id)?.start
        const start = shown ?? this.#hidden.get(id)
        this.#running.delete(id)
        this.#hidden.delete(id)
        this.#activitySince = this.#options.now()
        if (shown !== undefined) this.#printEnded({ start: shown, end: event })
        if (start !== undefined) this.#options.toolEnded({ start, end: event })
        return
      }
      case "subagent-start":
      case "subagent-end":
        this.#print(this.#subagents.handle(event, this.#view("note")))
        return
      case "status": {
        if (event.kind === "subagent") this.#print(this.#subagents.handle(event, this.#view("note")))
        if ("discardsText" in event && event.discardsText) this.#discardText()
        const shown = shownStatus(event)
        if (shown !== undefined) this.note(shown)
        return
      }
      case "run-start":
      case "usage":
      case "session-rotated":
      case "plan-ready":
      case "approval-request":
      case "clarify-request":
        return
      default:
        assertNever(event)
    }
  }

  #printEnded(tool: EndedTool): void {
    const { config, display } = this.#options
    const verbose = display.get("display.tool_progress") === "verbose"
    this.#print(endedToolRows(tool, { ...this.#view("note"), verbose, diffs: config.get("display.inline_diffs") }))
  }

  #feed(text: string, markdown: MarkdownStream): void {
    this.#printText(markdown.feed(this.#plain.feed(text)))
  }

  #finishMessage(): void {
    const markdown = this.#markdown
    if (markdown === undefined) return
    this.#printText([...markdown.feed(this.#plain.end()), ...markdown.end()])
    this.#hasText = false
  }

  /** The text of the last request belongs to no message. What is printed stays; the rest is dropped. */
  #discardText(): void {
    this.#markdown?.end()
    this.#plain = createPlainStream()
    this.#hasText = false
  }

  #printText(rows: readonly Row[]): void {
    if (rows.length === 0) return
    this.#print(this.#separated(rows))
    this.#hasText = true
  }

  /** A blank row before the text of a message. */
  #separated(rows: readonly Row[]): readonly Row[] {
    return this.#hasText ? rows : ["", ...rows]
  }

  #finishReasoning(): void {
    if (this.#showsReasoning && this.#reasoning.trim() !== "")
      this.#print(reasoningRows(this.#reasoning, this.#view("note")))
    this.#reasoning = ""
  }

  #waitingRow(theme: Theme, columns: number): Row {
    const elapsedMs = this.#options.now() - this.#activitySince
    const indicator = this.#options.display.get("display.tui_status_indicator")
    return waitingRow({ theme, columns, elapsedMs, isThinking: this.#isThinking, indicator })
  }

  #print(rows: readonly Row[]): void {
    if (rows.length > 0) this.#options.print(rows)
  }

  #view<Kind extends string>(kind: Kind) {
    return { theme: this.#options.theme(), columns: this.#options.columns(), kind }
  }
}
