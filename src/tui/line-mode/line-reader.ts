import { isSlashLine } from "../../commands/slash-line.ts"
import { SLASH_COMMANDS } from "../../commands/slash-table.ts"
import { openCookedLines } from "../../terminal/editor/cooked-lines.ts"
import { draftOf, EMPTY_DRAFT } from "../../terminal/editor/draft.ts"
import { openLineEditor } from "../../terminal/editor/line-editor.ts"
import type { EditorPrompt, LineEditorEvents } from "../../terminal/editor/line-editor.ts"
import { printable } from "../../terminal/editor/wrapped-line.ts"
import type { Terminal } from "../../terminal/terminal.ts"
import { WOKEN } from "../chat-ui.ts"
import type { PromptHistory } from "../prompt-history.ts"
import type { AskUser } from "./questions.ts"

/** Lines typed by the user. A line that no read is waiting for goes to the busy listener, or else into a queue. */
export interface LineReader {
  /**
   * Returns the next message; undefined at the end of input, after Ctrl+C twice at the empty prompt and when the session's signal
   * aborts. `wake` cancels the wait with `WOKEN`; the draft stays for the next prompt.
   */
  next(prompt: string, wake: AbortSignal): Promise<string | undefined | typeof WOKEN>
  /** Asks a question. Lines typed before it do not count, and the draft is restored afterwards. */
  readonly answer: AskUser
  /** Sends lines and Ctrl+C to a listener while a turn or command runs; undefined ends that. */
  whileBusy(listener: BusyListener | undefined): void
  /** Returns unused lines to the front of the queue. */
  putBack(lines: readonly string[]): void
  /** Puts text into the input line of the next prompt, before what the user has typed there. */
  returnToDraft(text: string): void
  close(): void
}

const SLASH_NAMES = SLASH_COMMANDS.flatMap(({ name, aliases = [] }) => [name, ...aliases])

export interface BusyListener {
  line(text: string): void
  interrupt(): void
  /** What the user has typed so far. It is not echoed, because a reply is being written. */
  draftChanged?(text: string): void
}

export interface LineReaderOptions {
  readonly input: NodeJS.ReadableStream
  readonly terminal: Terminal
  readonly signal: AbortSignal
  readonly history: PromptHistory
  /** The terminal was closed. Must abort the signal. */
  readonly hungUp: () => void
  /** Milliseconds since the epoch. */
  readonly now: () => number
}

/** A read that waits for a line: the prompt or a question. Ctrl+C cancels a question without ending the input. */
interface PendingRead {
  readonly kind: "prompt" | "question"
  readonly resolve: (line: string | undefined) => void
}

/** A second Ctrl+C at the empty prompt within this time leaves. */
const LEAVE_WITHIN_MS = 2000
const LEAVE_HINT = "Press Ctrl+C again to leave."

export function openLineReader(options: LineReaderOptions): LineReader {
  const { input, terminal, signal, history } = options
  const queue: string[] = []
  let listener: BusyListener | undefined
  let pendingRead: PendingRead | undefined
  let ended = false
  /** The user leaves. Questions can still be asked. */
  let hasLeft = false
  let leaveRequestedAt = Number.NEGATIVE_INFINITY
  let hintTimer: NodeJS.Timeout | undefined
  const finishRead = (line: string | undefined): void => {
    const read = pendingRead
    pendingRead = undefined
    read?.resolve(line)
  }
  const burst = createBurst((message) => {
    history.add(message)
    if (pendingRead !== undefined) finishRead(message)
    else if (listener !== undefined) listener.line(message)
    else queue.push(message)
  })
  const end = (): void => {
    burst.flush()
    ended = true
    finishRead(undefined)
  }
  const leave = (): void => {
    burst.flush()
    editor.leave("")
    hasLeft = true
    finishRead(undefined)
  }
  const interruptAtPrompt = (): void => {
    if (editor.draft.text !== "") {
      leaveRequestedAt = Number.NEGATIVE_INFINITY
      editor.draft = EMPTY_DRAFT
      return
    }
    const now = options.now()
    if (now - leaveRequestedAt < LEAVE_WITHIN_MS) {
      leave()
      return
    }
    leaveRequestedAt = now
    editor.hint(LEAVE_HINT)
    clearTimeout(hintTimer)
    hintTimer = setTimeout(() => editor.hint(undefined), LEAVE_WITHIN_MS).unref()
  }
  const events: LineEditorEvents = {
    submitted: (text) => {
      leaveRequestedAt = Number.NEGATIVE_INFINITY
      if (pendingRead?.kind === "question") {
        finishRead(text)
        return
      }
      // The prompt has shown only the first line of those that arrived together.
      if (burst.hasLines() && pendingRead !== undefined) terminal.line(printable(text))
      burst.add(text)
    },
    interrupted: () => {
      if (pendingRead?.kind === "question") finishRead(undefined)
      else if (listener === undefined) interruptAtPrompt()
      else {
        // The reply may end before the second Ctrl+C arrives, which leaves in both cases.
        leaveRequestedAt = options.now()
        listener.interrupt()
      }
    },
    left: () => {
      if (pendingRead?.kind === "question") finishRead(undefined)
      else if (listener === undefined) leave()
    },
    ended: () => {
      options.hungUp()
    },
    hiddenDraftChanged: () => listener?.draftChanged?.(editor.draft.text),
  }
  const editor = terminal.stdoutIsTty
    ? openLineEditor({ input, terminal, history: () => history.entries(), commands: SLASH_NAMES, events })
    : openCookedLines({ input, terminal, events: { ...events, ended: end } })
  signal.addEventListener("abort", end, { once: true })

  const wait = (read: PendingRead["kind"], prompt: string, kind: EditorPrompt["kind"]): Promise<string | undefined> => {
    if (ended || (hasLeft && read === "prompt")) return Promise.resolve(undefined)
    const { promise, resolve } = Promise.withResolvers<string | undefined>()
    pendingRead = { kind: read, resolve }
    const lastRow = prompt.lastIndexOf("\n") + 1
    terminal.out(prompt.slice(0, lastRow))
    editor.show({ text: prompt.slice(lastRow), kind })
    return promise
  }

  return {
    next: async (prompt, wake) => {
      const queued = queue.shift()
      if (queued !== undefined) return queued
      if (wake.aborted) return WOKEN
      let woken = false
      const onWake = (): void => {
        if (pendingRead?.kind !== "prompt") return
        woken = true
        finishRead(undefined)
      }
      wake.addEventListener("abort", onWake, { once: true })
      const line = await wait("prompt", prompt, "message")
      wake.removeEventListener("abort", onWake)
      editor.hide()
      return woken ? WOKEN : line
    },
    answer: async (question, { secret, signal: cancelled }) => {
      if (secret && !terminal.stdoutIsTty) {
        terminal.errLine("A secret cannot be typed here without showing it. Run Hermes with its output on a terminal.")
        return undefined
      }
      if (ended || cancelled.aborted) return undefined
      const { draft } = editor
      editor.draft = EMPTY_DRAFT
      const close = (): void => finishRead(undefined)
      cancelled.addEventListener("abort", close, { once: true })
      const line = await wait("question", question, secret ? "secret" : "answer")
      cancelled.removeEventListener("abort", close)
      // Enter has left the prompt already; a cancelled question stays on the screen too.
      if (line === undefined) editor.leave("")
      editor.draft = draft
      return line
    },
    whileBusy: (next) => {
      listener = next
    },
    putBack: (lines) => {
      queue.unshift(...lines)
    },
    returnToDraft: (text) => {
      const { text: typed } = editor.draft
      editor.draft = draftOf(typed === "" ? text : `${text}\n${typed}`)
    },
    close: () => {
      clearTimeout(hintTimer)
      signal.removeEventListener("abort", end)
      editor.close()
    },
  }
}

/** Joins lines that arrive together, because they were pasted, into one message; commands among them stay separate. */
function createBurst(deliver: (line: string) => void) {
  let lines: string[] = []
  const flush = (): void => {
    const messages: string[] = []
    let joins = false
    for (const line of lines) {
      const isCommand = isSlashLine(line)
      if (joins && !isCommand) messages.push(`${messages.pop() ?? ""}\n${line}`)
      else messages.push(line)
      joins = !isCommand
    }
    lines = []
    for (const message of messages) deliver(message)
  }
  return {
    add: (line: string): void => {
      lines.push(line)
      if (lines.length === 1) setImmediate(flush)
    },
    hasLines: (): boolean => lines.length > 0,
    flush,
  }
}
