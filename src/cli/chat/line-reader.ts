import { createInterface } from "node:readline"
import { Writable } from "node:stream"

import { isSlashLine } from "../../commands/slash-table.ts"
import type { Terminal } from "../terminal/terminal.ts"
import { openPastedText } from "./pasted-text.ts"
import type { AskUser } from "./questions.ts"

/** Lines typed by the user. A line that no read is waiting for goes to the busy listener, or else into a queue. */
export interface LineReader {
  /**
   * Returns the next line; undefined at the end of input, after Ctrl+C at the empty prompt and when the session's signal aborts.
   * `wake` cancels the wait with `WOKEN`; the draft stays for the next prompt.
   */
  next(prompt: string, wake: AbortSignal): Promise<string | undefined | typeof WOKEN>
  /** Asks a question. Lines typed before it do not count, and the draft is restored afterwards. */
  readonly answer: AskUser
  /** True while the user has typed part of a line. */
  hasDraft(): boolean
  /** Sends lines and Ctrl+C to a listener while a turn or command runs; undefined ends that. */
  whileBusy(listener: BusyListener | undefined): void
  /** Returns unused lines to the front of the queue. */
  putBack(lines: readonly string[]): void
  close(): void
}

/** The result of `next` when its `wake` signal aborted. */
export const WOKEN = Symbol("woken")

export interface BusyListener {
  line(text: string): void
  interrupt(): void
}

export interface LineReaderOptions {
  readonly input: NodeJS.ReadableStream
  readonly terminal: Terminal
  readonly signal: AbortSignal
}

/** A read that waits for a line: the prompt or a question. Ctrl+C cancels a question without ending the input. */
interface PendingRead {
  readonly kind: "prompt" | "question"
  readonly resolve: (line: string | undefined) => void
}

export function openLineReader({ input, terminal, signal }: LineReaderOptions): LineReader {
  const echo = new Echo(terminal)
  const reader = createInterface({ input, output: echo, terminal: terminal.stdoutIsTty, historySize: 500 })
  const queue: string[] = []
  let listener: BusyListener | undefined
  let pendingRead: PendingRead | undefined
  let ended = false
  const finishRead = (line: string | undefined): void => {
    const read = pendingRead
    pendingRead = undefined
    read?.resolve(line)
  }
  const deliver = (line: string): void => {
    if (pendingRead !== undefined) finishRead(line)
    else if (listener !== undefined) listener.line(line)
    else queue.push(line)
  }
  const end = (): void => {
    ended = true
    finishRead(undefined)
  }
  const clearDraft = (): string => {
    const draft = reader.line
    if (draft !== "") {
      reader.write(null, { ctrl: true, name: "e" })
      reader.write(null, { ctrl: true, name: "u" })
    }
    return draft
  }
  const burst = createBurst(deliver)
  const pasted = openPastedText(input, terminal)
  reader.on("line", (line) => {
    // A question takes one line, so the end of a pasted password submits it.
    if (pendingRead?.kind === "question") burst.add(line)
    else if (!pasted.hold(line)) burst.add(pasted.complete(line))
  })
  // The arrow keys must not bring back a secret.
  reader.on("history", (history) => {
    if (echo.muted) history.shift()
  })
  reader.on("close", () => {
    burst.flush()
    end()
  })
  reader.on("SIGINT", () => {
    if (pendingRead?.kind === "question") finishRead(undefined)
    else if (listener !== undefined) listener.interrupt()
    else if (pasted.drop()) {
      clearDraft()
      reader.prompt()
    } else if (clearDraft() === "") {
      terminal.line()
      reader.close()
    }
  })
  signal.addEventListener("abort", end, { once: true })

  const wait = (kind: PendingRead["kind"], prompt: string): Promise<string | undefined> => {
    if (ended) return Promise.resolve(undefined)
    const { promise, resolve } = Promise.withResolvers<string | undefined>()
    pendingRead = { kind, resolve }
    // readline redraws its prompt from the first row, over text printed meanwhile, so it gets only the last row.
    const lastRow = prompt.lastIndexOf("\n") + 1
    terminal.out(prompt.slice(0, lastRow))
    reader.setPrompt(prompt.slice(lastRow))
    reader.prompt(true)
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
        terminal.line()
        finishRead(undefined)
      }
      wake.addEventListener("abort", onWake, { once: true })
      const line = await wait("prompt", prompt)
      wake.removeEventListener("abort", onWake)
      return woken ? WOKEN : line
    },
    answer: async (question, { secret, signal: cancelled }) => {
      if (secret && !terminal.stdoutIsTty) {
        terminal.errLine("A secret cannot be typed here without showing it. Run Hermes with its output on a terminal.")
        return undefined
      }
      if (ended || cancelled.aborted) return undefined
      const draft = clearDraft()
      const close = (): void => finishRead(undefined)
      cancelled.addEventListener("abort", close, { once: true })
      const answering = wait("question", question)
      echo.muted = secret
      const line = await answering
      cancelled.removeEventListener("abort", close)
      if (line === undefined && !ended) clearDraft()
      echo.muted = false
      // The Enter after a secret is not echoed, and a cancelled question had none.
      if (secret || line === undefined) terminal.line()
      reader.setPrompt("")
      if (draft !== "" && !ended) reader.write(draft)
      return line
    },
    hasDraft: () => reader.line !== "",
    whileBusy: (next) => {
      listener = next
    },
    putBack: (lines) => {
      queue.unshift(...lines)
    },
    close: () => {
      signal.removeEventListener("abort", end)
      pasted.close()
      reader.close()
    },
  }
}

/** The output of readline. While muted, typed text is not shown. */
class Echo extends Writable {
  muted = false
  readonly #terminal: Terminal

  constructor(terminal: Terminal) {
    super({ decodeStrings: false })
    this.#terminal = terminal
  }

  get columns(): number {
    return this.#terminal.columns
  }

  override _write(chunk: string, _encoding: BufferEncoding, done: () => void): void {
    if (!this.muted) this.#terminal.out(chunk)
    done()
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
    flush,
  }
}
