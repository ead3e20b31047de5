import { createInterface } from "node:readline"
import { Writable } from "node:stream"

import { isSlashLine } from "../../commands/slash-table.ts"
import type { Terminal } from "../terminal.ts"
import { openPastedText } from "./pasted-text.ts"
import type { AskPerson } from "./questions.ts"

/** Lines typed by the person. What is typed while nobody waits for it goes to whoever works, else it waits for its turn. */
export interface TypedLines {
  /** The next line, or undefined at the end of input, after Ctrl+C at the empty prompt and on a signal. */
  next(prompt: string): Promise<string | undefined>
  /** The same, but `wake` takes the prompt back; what stood half typed stays for the next one. */
  nextUnlessWoken(prompt: string, wake: AbortSignal): Promise<string | undefined | typeof WOKEN>
  /** The answer to a question: only what is typed after it was asked counts. What stood half typed comes back afterwards. */
  readonly answer: AskPerson
  /** Something stands half typed on the screen. */
  hasDraft(): boolean
  /** Takes lines and Ctrl+C while something runs; undefined when it has ended. */
  whileBusy(worker: BusyWorker | undefined): void
  /** Lines that were taken and not used: they come before all others. */
  putBack(lines: readonly string[]): void
  close(): void
}

/** Instead of a line: something else came first. */
export const WOKEN = Symbol("woken")

export interface BusyWorker {
  line(text: string): void
  interrupt(): void
}

export interface TypedLinesOptions {
  readonly input: NodeJS.ReadableStream
  readonly terminal: Terminal
  readonly signal: AbortSignal
}

/** One who waits for a line: the prompt, or a question that only Ctrl+C itself cancels. */
interface Taker {
  readonly kind: "prompt" | "question"
  readonly give: (line: string | undefined) => void
}

export function openTypedLines({ input, terminal, signal }: TypedLinesOptions): TypedLines {
  const echo = new Echo(terminal)
  const reader = createInterface({ input, output: echo, terminal: terminal.stdoutIsTty, historySize: 500 })
  const waiting: string[] = []
  let worker: BusyWorker | undefined
  let taker: Taker | undefined
  let ended = false
  const give = (line: string | undefined): void => {
    const { give: hand } = taker ?? { give: undefined }
    taker = undefined
    hand?.(line)
  }
  const arrive = (line: string): void => {
    if (taker !== undefined) give(line)
    else if (worker !== undefined) worker.line(line)
    else waiting.push(line)
  }
  const end = (): void => {
    ended = true
    give(undefined)
  }
  const clearDraft = (): string => {
    const draft = reader.line
    if (draft !== "") {
      reader.write(null, { ctrl: true, name: "e" })
      reader.write(null, { ctrl: true, name: "u" })
    }
    return draft
  }
  const burst = createBurst(arrive)
  const pasted = openPastedText(input, terminal)
  reader.on("line", (line) => {
    // A question wants one line, and the end of a pasted password is its end.
    if (taker?.kind === "question") burst.add(line)
    else if (!pasted.hold(line)) burst.add(pasted.complete(line))
  })
  // A secret must not come back with the arrow keys.
  reader.on("history", (history) => {
    if (echo.muted) history.shift()
  })
  reader.on("close", () => {
    burst.flush()
    end()
  })
  reader.on("SIGINT", () => {
    if (taker?.kind === "question") give(undefined)
    else if (worker !== undefined) worker.interrupt()
    else if (pasted.drop()) {
      clearDraft()
      reader.prompt()
    } else if (clearDraft() === "") {
      terminal.line()
      reader.close()
    }
  })
  signal.addEventListener("abort", end, { once: true })

  const wait = (kind: Taker["kind"], prompt: string): Promise<string | undefined> => {
    if (ended) return Promise.resolve(undefined)
    const { promise, resolve } = Promise.withResolvers<string | undefined>()
    taker = { kind, give: resolve }
    // The reader redraws a prompt from its first row on, over whatever was printed meanwhile: it gets the last row only.
    const lastRow = prompt.lastIndexOf("\n") + 1
    terminal.out(prompt.slice(0, lastRow))
    reader.setPrompt(prompt.slice(lastRow))
    reader.prompt(true)
    return promise
  }

  return {
    next: (prompt) => {
      const typed = waiting.shift()
      return typed === undefined ? wait("prompt", prompt) : Promise.resolve(typed)
    },
    nextUnlessWoken: async (prompt, wake) => {
      const typed = waiting.shift()
      if (typed !== undefined) return typed
      if (wake.aborted) return WOKEN
      let woken = false
      const onWake = (): void => {
        if (taker?.kind !== "prompt") return
        woken = true
        terminal.line()
        give(undefined)
      }
      wake.addEventListener("abort", onWake, { once: true })
      const line = await wait("prompt", prompt)
      wake.removeEventListener("abort", onWake)
      return woken ? WOKEN : line
    },
    answer: async (question, { secret, signal: takenBack }) => {
      if (secret && !terminal.stdoutIsTty) {
        terminal.errLine(
          "A secret cannot be typed here without showing it: start Hermes with its output on the terminal.",
        )
        return undefined
      }
      if (ended || takenBack.aborted) return undefined
      const draft = clearDraft()
      const close = (): void => give(undefined)
      takenBack.addEventListener("abort", close, { once: true })
      const answering = wait("question", question)
      echo.muted = secret
      const line = await answering
      takenBack.removeEventListener("abort", close)
      if (line === undefined && !ended) clearDraft()
      echo.muted = false
      // The Enter of a secret was not echoed, and a question that was cancelled has had none.
      if (secret || line === undefined) terminal.line()
      reader.setPrompt("")
      if (draft !== "" && !ended) reader.write(draft)
      return line
    },
    hasDraft: () => reader.line !== "",
    whileBusy: (next) => {
      worker = next
    },
    putBack: (lines) => {
      waiting.unshift(...lines)
    },
    close: () => {
      signal.removeEventListener("abort", end)
      pasted.close()
      reader.close()
    },
  }
}

/** Where the reader draws. Muted, what is typed stays unseen. */
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

/** Lines that arrive in one go were pasted and are one message; commands among them stand for themselves. */
function createBurst(arrive: (line: string) => void) {
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
    for (const message of messages) arrive(message)
  }
  return {
    add: (line: string): void => {
      lines.push(line)
      if (lines.length === 1) setImmediate(flush)
    },
    flush,
  }
}
