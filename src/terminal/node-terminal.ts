import { fstatSync } from "node:fs"
import { isatty } from "node:tty"
import { errorCode, explainSystemError } from "../base/system-error.ts"
import { createPlainScreen, createScreen, type Screen } from "./live-area.ts"
import { plainText, styledText } from "./printable-text.ts"
import type { StdinOptions, StdinText, Terminal } from "./terminal.ts"
import { wrapWords } from "./word-wrap.ts"

export interface NodeTerminal extends Terminal {
  /** Why stdout could not be written; undefined when its reader has closed it, because that is not an error. */
  readonly outputProblem: string | undefined
  /** Takes the terminal back from the part of Hermes that draws on it. */
  reclaim(): void
}

/**
 * Creates a terminal from the streams of this process. Each stream is created on first use, because that takes longer than most
 * commands. When the signal aborts, open questions end without an answer.
 */
export function createNodeTerminal(options: {
  readonly signal: AbortSignal
  /** Without colours. */
  readonly plain: boolean
  /** Without any escape sequence. */
  readonly dumb: boolean
}): NodeTerminal {
  const stdout = lazyStream(() => process.stdout)
  const stderr = lazyStream(() => process.stderr)
  const stdinIsTty = isatty(0)
  const stdoutIsTty = isatty(1)
  const stderrIsTty = isatty(2)
  const columns = (): number => (stdoutIsTty ? process.stdout.columns || DEFAULT_COLUMNS : DEFAULT_COLUMNS)
  const screenColumns = (): number => (stdoutIsTty ? columns() : process.stderr.columns || DEFAULT_COLUMNS)
  const screen =
    stdoutIsTty || stderrIsTty
      ? openScreen(stdoutIsTty ? stdout : stderr, {
          columns: screenColumns,
          dumb: options.dumb,
        })
      : undefined
  // A program that reads a pipe gets the text as it is.
  const writer = (isTty: boolean, stream: LazyStream, clean: (text: string) => string): ((text: string) => void) =>
    isTty && screen !== undefined ? (text) => screen.write(clean(text)) : (text) => stream.write(text)
  const out = writer(stdoutIsTty, stdout, plainText)
  const err = writer(stderrIsTty, stderr, plainText)
  const color = stdoutIsTty && !options.plain
  // Without colour Hermes adds no styles, so none of them are its own.
  const clean = color ? styledText : plainText
  const styled = { stdout: writer(stdoutIsTty, stdout, clean), stderr: writer(stderrIsTty, stderr, clean) }
  let giveBack: (() => void) | undefined
  const ask: Terminal["ask"] = async (question, settings = {}) => {
    const signal = settings.signal === undefined ? options.signal : AbortSignal.any([options.signal, settings.signal])
    if (!stdinIsTty || !(stderrIsTty || stdoutIsTty) || signal.aborted) return undefined
    await stdout.flush()
    const { askLine } = await import("./ask-line.ts")
    return askLine(plainText(question), { terminal, secret: settings.secret === true, signal })
  }
  const terminal: NodeTerminal = {
    out,
    err,
    line: (text = "") => out(`${text}\n`),
    errLine: (text) => err(`${stderrIsTty ? wrapWords(text, screenColumns()) : text}\n`),
    styledLine: (text, stream = "stdout") => styled[stream](`${text}\n`),
    stdinIsTty,
    get stdinIsPiped() {
      return isFileOrPipe(0)
    },
    stdoutIsTty,
    stderrIsTty,
    get columns() {
      return columns()
    },
    get rows() {
      return (stdoutIsTty && process.stdout.rows) || DEFAULT_ROWS
    },
    live: screen?.live,
    movesCursor: screen !== undefined && !options.dumb,
    lend: (borrower) => {
      giveBack = borrower
      return () => {
        if (giveBack === borrower) giveBack = undefined
      }
    },
    reclaim: () => giveBack?.(),
    onResize: (listener) => {
      if (!stdoutIsTty) return () => undefined
      process.stdout.on("resize", listener)
      return () => process.stdout.off("resize", listener)
    },
    color,
    get closed() {
      return stdout.closed()
    },
    onClose: (listener) => stdout.onClose(listener),
    get outputProblem() {
      return stdout.problem()
    },
    ask,
    confirm: async (question) => {
      const answer = await ask(`${question} [y/N] `)
      return answer === undefined ? undefined : /^y(es)?$/i.test(answer.trim())
    },
    readStdin,
    flush: async () => {
      await stdout.flush()
      await stderr.flush()
    },
  }
  return terminal
}

const DEFAULT_COLUMNS = 80
const DEFAULT_ROWS = 24

function openScreen(stream: LazyStream, options: { readonly columns: () => number; readonly dumb: boolean }): Screen {
  const write = (text: string): void => stream.write(text)
  if (options.dumb) return createPlainScreen({ write })
  return createScreen({
    write,
    get columns() {
      return options.columns()
    },
  })
}

/** These codes mean that the reader has gone, as in a pipe into `head`; that is not an error. */
const READER_GONE = new Set(["EPIPE", "EIO", "ECONNRESET", "ERR_STREAM_DESTROYED", "ERR_STREAM_WRITE_AFTER_END"])

interface LazyStream {
  write(text: string): void
  flush(): Promise<void>
  closed(): boolean
  onClose(listener: () => void): void
  problem(): string | undefined
}

function lazyStream(open: () => NodeJS.WriteStream): LazyStream {
  let stream: NodeJS.WriteStream | undefined
  let state:
    | { readonly kind: "open" }
    | { readonly kind: "closed" }
    | { readonly kind: "failed"; readonly why: string } = {
    kind: "open",
  }
  const closeListeners: (() => void)[] = []
  const fail = (error: unknown): void => {
    if (state.kind !== "open") return
    if (!READER_GONE.has(errorCode(error) ?? "")) {
      state = { kind: "failed", why: explainSystemError(error) }
      return
    }
    state = { kind: "closed" }
    for (const listener of closeListeners.splice(0)) listener()
  }
  return {
    write: (text) => {
      if (state.kind !== "open" || text === "") return
      if (stream === undefined) {
        stream = open()
        stream.on("error", fail)
      }
      stream.write(text)
    },
    flush: async () => {
      const opened = stream
      if (opened === undefined || opened.destroyed || state.kind !== "open") return
      await new Promise<void>((resolve) => {
        const done = (): void => {
          opened.off("error", done)
          opened.off("close", done)
          resolve()
        }
        opened.on("error", done)
        opened.on("close", done)
        opened.write("", (error) => {
          if (error) fail(error)
          done()
        })
      })
    },
    closed: () => state.kind === "closed",
    onClose: (listener) => {
      if (state.kind === "closed") listener()
      else closeListeners.push(listener)
    },
    problem: () => (state.kind === "failed" ? state.why : undefined),
  }
}

function isFileOrPipe(descriptor: number): boolean {
  try {
    const stats = fstatSync(descriptor)
    return stats.isFIFO() || stats.isFile() || stats.isSocket()
  } catch {
    // The descriptor is closed, so there is nothing to read.
    return false
  }
}

/** Makes reading this stream keep the process alive, or not. A file stream has no `ref`, as reading it never waits. */
function setReferenced(input: NodeJS.ReadStream, referenced: boolean): void {
  if (!("ref" in input) || typeof input.ref !== "function") return
  if (referenced) input.ref()
  else input.unref()
}

/** Reads to the end, to the limit, or until the first byte took too long. Rejects when the signal aborts. */
async function readStdin(options: StdinOptions): Promise<StdinText> {
  const { maxBytes, firstByteWithinMs, signal } = options
  signal.throwIfAborted()
  const input = process.stdin
  setReferenced(input, true)
  const chunks: Uint8Array[] = []
  let size = 0
  let timedOut = false
  await new Promise<void>((resolve, reject) => {
    const stopWaiting = (): void => {
      timedOut = true
      finish(resolve)
    }
    const timer = firstByteWithinMs === undefined ? undefined : setTimeout(stopWaiting, firstByteWithinMs)
    const finish = (settle: () => void): void => {
      clearTimeout(timer)
      input.off("data", take).off("end", end).off("close", end).off("error", failed)
      signal.removeEventListener("abort", abort)
      input.pause()
      setReferenced(input, false)
      settle()
    }
    const end = (): void => finish(resolve)
    const failed = (error: Error): void => finish(() => reject(error))
    const abort = (): void => finish(() => reject(new DOMException("reading was stopped", "AbortError")))
    const take = (chunk: Uint8Array): void => {
      clearTimeout(timer)
      chunks.push(chunk)
      size += chunk.length
      if (size > maxBytes) finish(resolve)
    }
    signal.addEventListener("abort", abort, { once: true })
    input.on("data", take).on("end", end).on("close", end).on("error", failed)
  })
  // A streaming decoder drops the bytes of a character that the limit has split.
  const text = new TextDecoder().decode(Buffer.concat(chunks).subarray(0, maxBytes), { stream: size > maxBytes })
  return { text, truncated: size > maxBytes, timedOut }
}
