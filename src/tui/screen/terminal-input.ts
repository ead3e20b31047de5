import type { Clock } from "../../base/clock.ts"
import { createKeyDecoder } from "./decode-keys.ts"
import type { InputEvent } from "./key-event.ts"
import { callLater } from "./frame-schedule.ts"

/** Reads the keyboard in raw mode between `start` and `stop`. */
export interface TerminalInput {
  start(): void
  stop(): void
}

/** How long an escape waits for the rest of a sequence. */
const ESCAPE_MS = 30

export function createTerminalInput(options: {
  readonly input: NodeJS.ReadableStream
  readonly clock: Clock
  readonly events: (events: readonly InputEvent[]) => void
}): TerminalInput {
  const { input, clock } = options
  const decoder = createKeyDecoder()
  // The terminal has converted Enter to a newline in what was typed before raw mode; later a newline is Ctrl+J.
  let typedBefore = true
  let cancelDecision: (() => void) | undefined
  const decideLater = (): void => {
    // After a busy moment the rest of the sequence may have arrived already; it is read before an immediate runs.
    let immediate: NodeJS.Immediate | undefined
    const cancelTimer = callLater(clock, ESCAPE_MS, () => {
      immediate = setImmediate(() => options.events(decoder.timeout()))
    })
    cancelDecision = () => {
      cancelTimer()
      clearImmediate(immediate)
    }
  }
  const onData = (chunk: Uint8Array | string): void => {
    cancelDecision?.()
    cancelDecision = undefined
    const bytes = typeof chunk === "string" ? Buffer.from(chunk) : chunk
    const events = decoder.feed(bytes, { typedBefore })
    if (decoder.waiting) decideLater()
    options.events(events)
  }
  return {
    start: () => {
      typedBefore = true
      setRawMode(input, true)
      keepAlive(input)
      input.on("data", onData)
      input.resume()
      // What was typed before is read in the first round of the event loop after `resume`, which starts reading with a delay.
      setImmediate(() => {
        setImmediate(() => {
          typedBefore = false
        })
      })
    },
    stop: () => {
      cancelDecision?.()
      input.off("data", onData)
      setRawMode(input, false)
      input.pause()
    },
  }
}

/** Reading keeps the process alive again, where a question of line mode has ended that. */
function keepAlive(input: NodeJS.ReadableStream): void {
  if ("ref" in input && typeof input.ref === "function") input.ref()
}

function setRawMode(input: NodeJS.ReadableStream, raw: boolean): void {
  if (!("setRawMode" in input) || typeof input.setRawMode !== "function") return
  try {
    input.setRawMode(raw)
  } catch {
    // The terminal is gone (EIO); the end of the input reports it.
  }
}
