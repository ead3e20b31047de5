import type { Channel } from "../../base/channel.ts"
import type { Clock } from "../../base/clock.ts"
import type { AgentEventBody } from "../../protocol/events.ts"

/** Live output of one call, for display only. When the reader falls behind, output is dropped and a note states its length. */
export interface Progress {
  push(text: string): void
  /** The call has settled; later output is dropped. */
  end(): void
}

const MAX_UNREAD_EVENTS = 200
const MAX_EVENT_CHARS = 16 * 1024
const HEARTBEAT_MS = 5000

export function createProgress(
  callId: string,
  options: {
    readonly events: Channel<AgentEventBody>
    readonly clock: Clock
    /** Report every few seconds that a silent call is still running. */
    readonly heartbeat: boolean
  },
): Progress {
  const { events, clock } = options
  const started = clock.now()
  let ended = false
  let silent = true
  let droppedChars = 0
  const push = (text: string): void => {
    if (ended || text === "") return
    if (events.unread >= MAX_UNREAD_EVENTS) {
      droppedChars += text.length
      return
    }
    droppedChars += Math.max(0, text.length - MAX_EVENT_CHARS)
    const note = droppedChars === 0 ? "" : `[... ${droppedChars} characters not shown ...]\n`
    droppedChars = 0
    events.push({ type: "tool-progress", callId, text: note + text.slice(-MAX_EVENT_CHARS) })
  }
  const beat = (): void => {
    if (silent) push(`[still running after ${Math.round((clock.now() - started) / 1000)} s]\n`)
    silent = true
  }
  const timer = options.heartbeat ? setInterval(beat, HEARTBEAT_MS) : undefined
  return {
    push: (text) => {
      silent = false
      push(text)
    },
    end: () => {
      ended = true
      clearInterval(timer)
    },
  }
}
