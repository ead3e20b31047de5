import { emitKeypressEvents } from "node:readline"

/** A key as Node decodes it. */
export interface Key {
  readonly name?: string | undefined
  readonly sequence?: string | undefined
  readonly ctrl?: boolean | undefined
  readonly meta?: boolean | undefined
  readonly shift?: boolean | undefined
}

export interface RawKeysOptions {
  readonly input: NodeJS.ReadableStream
  /** Writes terminal modes. */
  readonly write: (sequence: string) => void
  readonly key: (text: string, key: Key) => void
  readonly paste: (text: string) => void
  /** The process continues after it was stopped; another program may have used the screen. */
  readonly resumed: () => void
  /** There will be no more input: the terminal is gone. */
  readonly ended: () => void
}

/** Reads single keys: raw mode and bracketed paste are on until `close`, and off while the process is stopped. */
export interface RawKeys {
  /** Stops the process as Ctrl+Z does, and returns when it continues. */
  suspend(): void
  close(): void
}

const ENABLE_BRACKETED_PASTE = "\u{1B}[?2004h"
const DISABLE_BRACKETED_PASTE = "\u{1B}[?2004l"

export function openRawKeys(options: RawKeysOptions): RawKeys {
  const { input, write } = options
  let pasted: string | undefined
  let afterReturn = false
  let closed = false
  // The terminal has converted Enter to a newline in what was typed before raw mode; later a newline is Ctrl+J.
  let typedBefore = true
  const onKey = (text: string | undefined, key: Key): void => {
    // A line end of two characters is one key.
    const isSecondHalf = afterReturn && key.name === "enter"
    afterReturn = key.name === "return"
    if (isSecondHalf) return
    if (key.name === "paste-start") pasted = ""
    else if (pasted === undefined)
      options.key(text ?? "", typedBefore && key.name === "enter" ? { ...key, name: "return" } : key)
    else if (key.name === "paste-end") {
      const whole = pasted
      pasted = undefined
      options.paste(whole)
    } else if (key.ctrl === true && key.name === "c") pasted = undefined
    else pasted += key.name === "return" || key.name === "enter" ? "\n" : pastedCharacters(text ?? "")
  }
  const start = (): void => {
    typedBefore = true
    setRawMode(input, true)
    write(ENABLE_BRACKETED_PASTE)
    input.resume()
    // What was typed before is read in the first round of the event loop after `resume`, which starts reading with a delay.
    setImmediate(() => {
      setImmediate(() => {
        typedBefore = false
      })
    })
  }
  const stop = (): void => {
    write(DISABLE_BRACKETED_PASTE)
    setRawMode(input, false)
  }
  const onContinue = (): void => {
    if (closed) return
    start()
    options.resumed()
  }
  // Reading a terminal that was closed fails; that is the end of the input, not an error.
  const onEnd = (): void => {
    if (!closed) options.ended()
  }

  emitKeypressEvents(input)
  input.on("keypress", onKey).on("end", onEnd).on("close", onEnd).on("error", onEnd)
  process.on("SIGCONT", onContinue).on("exit", stop)
  start()
  return {
    suspend: () => {
      stop()
      process.kill(process.pid, "SIGTSTP")
      // Without job control the signal has no effect.
      setImmediate(onContinue)
    },
    close: () => {
      closed = true
      process.off("SIGCONT", onContinue).off("exit", stop)
      // A terminal that closes later must not end the process with an exception.
      if (!input.listeners("error").includes(ignoreError)) input.on("error", ignoreError)
      input.off("keypress", onKey).off("end", onEnd).off("close", onEnd).off("error", onEnd)
      stop()
      input.pause()
    },
  }
}

function ignoreError(): void {
  // No question is open.
}

function pastedCharacters(text: string): string {
  return text.replaceAll(/(?![\n\t])\p{Cc}/gu, "")
}

function setRawMode(input: NodeJS.ReadableStream, raw: boolean): void {
  if (!("setRawMode" in input) || typeof input.setRawMode !== "function") return
  try {
    input.setRawMode(raw)
  } catch {
    // The terminal is gone (EIO); `ended` reports it.
  }
}
