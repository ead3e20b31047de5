import type { Clock } from "../../base/clock.ts"
import type { Drawing, Row, Size } from "../drawing.ts"
import { drawFrame, type DrawnFrame, type Frame, type Shown } from "./draw-frame.ts"
import { captureOutput, type ForeignStream } from "./foreign-output.ts"
import { createFrameSchedule } from "./frame-schedule.ts"
import type { InputEvent, KeyEvent } from "./key-event.ts"
import { RESTORE_TITLE, SAVE_TITLE, titleSequence } from "./notification.ts"
import { createRecentFrames } from "./recent-frames.ts"
import { EMPTY_ROW, rowCells, wrappedCells } from "./row-cells.ts"
import { createTerminalInput } from "./terminal-input.ts"
import {
  ASK_TERMINAL_KIND,
  BEGIN_FRAME,
  END_FRAME,
  WRAP,
  enterModes,
  identifiedTraits,
  leaveModes,
  resetKeyboard,
  type TerminalTraits,
} from "./terminal-modes.ts"
import { unmarkedPaste } from "./unmarked-paste.ts"

/**
 * The terminal of the full UI. What is printed belongs to the terminal's scrollback and never changes; below it is the live area, which
 * is redrawn where it changes. The screen is never cleared.
 */
export interface Screen {
  readonly size: Size
  /** Whether the window has the focus; undefined where the terminal has not reported it. */
  readonly focused: boolean | undefined
  /** Prints rows above the live area. */
  print(rows: readonly Row[]): void
  /** Sets what the live area shows. The function is called for each frame and must fit into the size. */
  setLive(draw: (size: Size) => Drawing): void
  /** Requests a frame: at once after a key, or with the next of at most 30 frames per second. */
  update(when: "now" | "soon"): void
  /** Draws the whole live area again, for example because another program has written to the terminal. */
  redraw(): void
  /** Sends keys to the listener. The last one set receives them, also those from before there was one. */
  onKey(listener: (event: KeyEvent) => void): void
  /** Sends the replies of the terminal to the listener, for example `11;rgb:0000/0000/0000`. */
  onReply(listener: (payload: string) => void): void
  /** Sets the title of the window; the one of before comes back when the terminal is given away. */
  setTitle(title: string): void
  /** Writes a sequence that does not move the cursor: the bell, a notification, a question to the terminal. */
  control(sequence: string): void
  /** Gives the terminal to another program, for example an editor, and takes it back afterwards. */
  release<T>(work: () => Promise<T>): Promise<T>
  /** Stops the process, as Ctrl+Z does. */
  suspend(): void
  /** Removes the live area and restores the modes of the terminal. */
  close(): void
}

export interface ScreenOptions {
  readonly input: NodeJS.ReadableStream
  readonly output: ScreenOutput
  readonly clock: Clock
  readonly traits: TerminalTraits
  /** Asks the terminal to report whether its window has the focus. */
  readonly reportFocus?: boolean
  /** Asks the terminal what it is behind the first frame, where the traits leave that open. */
  readonly identify?: boolean
  /** The terminal is gone. Called once. */
  readonly ended: () => void
  /** Streams to the same terminal. What other code writes to them is printed above the live area. */
  readonly foreign?: readonly ForeignStream[]
  /** Sends SIGTSTP to this process. */
  readonly stopProcess?: () => void
}

/** The part of `tty.WriteStream` that the screen uses. */
export interface ScreenOutput {
  readonly columns: number
  readonly rows: number
  /** Returns false when the terminal does not take more bytes for now. */
  write(text: string): boolean
  on(event: "resize" | "drain" | "error" | "close", listener: () => void): unknown
  off(event: "resize" | "drain" | "error" | "close", listener: () => void): unknown
}

export function openScreen(options: ScreenOptions): Screen {
  return new TerminalScreen(options)
}

const NOTHING_SHOWN: Shown = { rows: [], cursor: { row: 0, column: 0 }, cursorVisible: true, wraps: true }

class TerminalScreen implements Screen {
  readonly #options: ScreenOptions
  readonly #input
  readonly #schedule
  #state: "open" | "released" | "suspended" | "closed" = "open"
  #traits: TerminalTraits
  #mayAsk: boolean
  /** The terminal cannot be written any more. */
  #gone = false
  #draw: (size: Size) => Drawing = () => ({ rows: [] })
  #printed: Row[] = []
  #shown = NOTHING_SHOWN
  /** The terminal may show something else than we know: it was resized, or another program has used it. */
  #disturbed = true
  /** The terminal takes no bytes; a frame may be due. */
  #blocked = false
  readonly #recent = createRecentFrames()
  #resizedAt = 0
  readonly #writeBytes: (bytes: string) => boolean
  #endCapture: (() => void) | undefined
  /** Undefined until the terminal has reported it; some never do. */
  #focused: boolean | undefined
  #title: string | undefined
  #keyListener: ((event: KeyEvent) => void) | undefined
  #earlyKeys: KeyEvent[] = []
  #replyListener: ((payload: string) => void) | undefined

  constructor(options: ScreenOptions) {
    this.#options = options
    const { input, output, clock, traits, identify = false } = options
    this.#traits = traits
    this.#mayAsk = identify && traits.mayBeMultiplexer === true
    this.#writeBytes = output.write.bind(output)
    this.#input = createTerminalInput({ input, clock, events: (events) => this.#receive(events) })
    this.#schedule = createFrameSchedule(clock, () => this.#frame())
    input.on("end", this.#end).on("close", this.#end).on("error", this.#end)
    output.on("error", this.#end)
    output.on("close", this.#end)
    output.on("resize", this.#resized)
    output.on("drain", this.#drained)
    process.on("SIGCONT", this.#continued).on("SIGHUP", this.#end).on("exit", this.#exit)
    this.#enter()
  }

  get size(): Size {
    const { columns, rows } = this.#options.output
    return { columns: Math.max(1, columns || DEFAULT_SIZE.columns), rows: Math.max(1, rows || DEFAULT_SIZE.rows) }
  }

  get focused(): boolean | undefined {
    return this.#focused
  }

  print(rows: readonly Row[]): void {
    for (const row of rows) this.#printed.push(row)
    this.update("soon")
  }

  setLive(draw: (size: Size) => Drawing): void {
    this.#draw = draw
    this.update("soon")
  }

  update(when: "now" | "soon"): void {
    if (this.#state === "open" && !this.#blocked && !this.#gone) this.#schedule.request(when)
  }

  redraw(): void {
    if (!this.#disturbed) this.#resizedAt = Number.POSITIVE_INFINITY
    this.#disturbed = true
    this.update("now")
  }

  onKey(listener: (event: KeyEvent) => void): void {
    this.#keyListener = listener
    const early = this.#earlyKeys
    this.#earlyKeys = []
    for (const event of early) this.#keyListener(event)
  }

  onReply(listener: (payload: string) => void): void {
    this.#replyListener = listener
  }

  setTitle(title: string): void {
    if (!this.#options.traits.titles || title === this.#title) return
    this.control((this.#title === undefined ? SAVE_TITLE : "") + titleSequence(title))
    this.#title = title
  }

  control(sequence: string): void {
    if (this.#state === "open") this.#write(sequence)
  }

  async release<T>(work: () => Promise<T>): Promise<T> {
    if (this.#state !== "open") return await work()
    this.#leave("released")
    try {
      return await work()
    } finally {
      if (this.#isIn("released")) this.#takeBack()
    }
  }

  suspend(): void {
    if (this.#state !== "open") return
    this.#leave("suspended")
    const stop = this.#options.stopProcess ?? (() => process.kill(process.pid, "SIGTSTP"))
    stop()
    // Without job control the signal has no effect.
    setImmediate(() => {
      if (this.#isIn("suspended")) this.#takeBack()
    })
  }

  close(): void {
    if (this.#state === "closed") return
    if (this.#state === "open") this.#leave("closed")
    else this.#write(this.#erasedFrame())
    this.#state = "closed"
    const { input, output } = this.#options
    // The listeners for errors stay: a terminal that closes later must not end the process with an exception.
    input.off("end", this.#end).off("close", this.#end)
    output.off("close", this.#end)
    output.off("resize", this.#resized)
    output.off("drain", this.#drained)
    process.off("SIGCONT", this.#continued).off("SIGHUP", this.#end).off("exit", this.#exit)
  }

  #enter(): void {
    const { traits, reportFocus = false } = this.#options
    const title = this.#title === undefined ? "" : SAVE_TITLE + titleSequence(this.#title)
    this.#write(enterModes(traits.keyboard, reportFocus) + title)
    this.#endCapture = captureOutput(this.#options.foreign ?? [], (lines) => this.print(lines))
    this.#input.start()
  }

  #leave(state: "released" | "suspended" | "closed"): void {
    const { traits, reportFocus = false } = this.#options
    this.#schedule.cancel()
    this.#endCapture?.()
    const title = this.#title === undefined ? "" : RESTORE_TITLE
    this.#write(this.#erasedFrame() + title + leaveModes(traits.keyboard, reportFocus))
    this.#shown = { ...this.#shown, wraps: true }
    this.#input.stop()
    this.#state = state
  }

  #takeBack(): void {
    this.#state = "open"
    refreshSize(this.#options.output)
    this.#enter()
    this.redraw()
  }

  /** Prints what is left and removes the live area. */
  #erasedFrame(): string {
    return this.#bytesOf({ rows: [], cursor: { row: 0, column: 0 } }).bytes
  }

  #frame(): void {
    if (this.#state !== "open" || this.#blocked || this.#gone) return
    const { columns, rows } = this.size
    refreshSize(this.#options.output)
    // A new size has postponed the frame.
    if (columns !== this.size.columns || rows !== this.size.rows) return
    const { bytes, isOneChange } = this.#bytesOf(this.#draw(this.size))
    if (bytes !== "") this.#write(isOneChange ? bytes : BEGIN_FRAME + bytes + END_FRAME)
    if (this.#mayAsk) this.#write(ASK_TERMINAL_KIND)
    this.#mayAsk = false
  }

  #bytesOf(drawing: Drawing): Pick<DrawnFrame, "bytes" | "isOneChange"> {
    const { size } = this
    const start = this.#disturbed ? this.#eraseSequence(size) : ""
    const frame = this.#layOut(drawing, size)
    this.#printed = []
    const { bytes, shown, isOneChange } = drawFrame(this.#shown, frame)
    this.#shown = shown
    if (bytes !== "") this.#recent.drawn({ shown, printed: frame.printed.length, at: this.#options.clock.now() })
    return { bytes: start + bytes, isOneChange: isOneChange && start === "" }
  }

  /** Moves to the first row of the live area, wherever the terminal has put it, and erases from there. */
  #eraseSequence({ columns }: Size): string {
    const up = this.#recent.rowsAboveCursor(this.#resizedAt, { columns, reflow: this.#traits.reflow })
    this.#recent.forget()
    this.#disturbed = false
    const { cursorVisible, wraps } = this.#shown
    this.#shown = { ...NOTHING_SHOWN, cursorVisible, wraps }
    // tmux moves what is erased from the first cell of the screen on into its scrollback, so the first row is erased by itself.
    return up === 0 ? "\r\u{1B}[J" : `\r\u{1B}[${up}A\u{1B}[K\u{1B}[B\u{1B}[J\u{1B}[A`
  }

  #layOut({ rows, cursor }: Drawing, size: Size): Frame {
    const known = new Map(this.#shown.rows.map((row) => [row.source, row]))
    // A live area that is too tall keeps its end and the cursor.
    const first = Math.max(0, Math.min(rows.length - size.rows, cursor?.row ?? Number.POSITIVE_INFINITY))
    const live = rows.slice(first, first + size.rows).map((row) => known.get(row) ?? rowCells(row, size.columns))
    return {
      printed: this.#printed.flatMap((row) => {
        const wrapped = wrappedCells(row, size.columns)
        return wrapped.map((cells, index) => ({ row: cells, wraps: index < wrapped.length - 1 }))
      }),
      live: live.length === 0 ? [EMPTY_ROW] : live,
      cursor: cursor && {
        row: Math.max(0, Math.min(cursor.row - first, live.length - 1)),
        column: Math.min(cursor.column, size.columns - 1),
      },
      size,
      writesWholeRows: this.#traits.reportsSizeLate === true,
    }
  }

  #write(bytes: string): void {
    if (this.#gone || bytes === "") return
    if (!this.#writeBytes(bytes)) this.#blocked = true
  }

  #receive(events: readonly InputEvent[]): void {
    // What was typed before there was a listener may be several messages.
    const mayPaste = !this.#options.traits.marksPastes && this.#keyListener !== undefined
    const pasted = mayPaste ? unmarkedPaste(events) : undefined
    for (const event of pasted === undefined ? events : [{ type: "paste", text: pasted, unmarked: true } as const]) {
      if (event.type === "focus") this.#focused = event.focused
      else if (event.type === "osc") this.#replyListener?.(event.payload)
      else if (event.type === "terminal-kind") this.#traits = identifiedTraits(this.#traits, event.kind)
      else if (this.#keyListener === undefined) this.#earlyKeys.push(event)
      else this.#keyListener(event)
    }
  }

  /** Without narrowing: the state changes while work is awaited. */
  #isIn(state: "released" | "suspended"): boolean {
    return this.#state === state
  }

  readonly #resized = (): void => {
    // Within a series of resizes the first one counts: nothing is drawn until its end.
    if (!this.#disturbed) this.#resizedAt = this.#options.clock.now()
    this.#disturbed = true
    if (this.#state === "open" && !this.#gone) this.#schedule.postpone(this.#traits.settleMs)
  }

  readonly #drained = (): void => {
    this.#blocked = false
    this.update("now")
  }

  readonly #continued = (): void => {
    if (this.#state === "suspended") this.#takeBack()
    else if (this.#state === "open") {
      // It was stopped from outside, without a chance to leave. A shell may have changed the modes meanwhile.
      this.#input.stop()
      this.#endCapture?.()
      const title = this.#title === undefined ? "" : RESTORE_TITLE
      this.#write(resetKeyboard(this.#options.traits.keyboard) + WRAP + title)
      this.#shown = { ...this.#shown, wraps: true }
      this.#takeBack()
    }
  }

  readonly #end = (): void => {
    if (this.#gone || this.#state === "closed") return
    this.#gone = true
    this.#schedule.cancel()
    this.#options.ended()
  }

  readonly #exit = (): void => this.close()
}

const DEFAULT_SIZE = { columns: 80, rows: 24 }

/** The signal about a new size may be late, and a stopped process gets none. */
function refreshSize(output: ScreenOutput): void {
  if ("_refreshSize" in output && typeof output._refreshSize === "function") output._refreshSize()
}
