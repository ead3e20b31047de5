import type { Channel } from "../../base/channel.ts"
import type { AgentEventBody } from "../../protocol/events.ts"

/** Live output of one call. It is for people and may be left out: a reader that falls behind is told how much it missed. */
export interface Progress {
  push(text: string): void
  /** The call has settled; what its tool still says is dropped. */
  end(): void
}

const MAX_UNREAD_EVENTS = 200
const MAX_EVENT_CHARS = 16 * 1024

export function createProgress(callId: string, events: Channel<AgentEventBody>): Progress {
  let ended = false
  let missedChars = 0
  return {
    push: (text) => {
      if (ended || text === "") return
      if (events.unread >= MAX_UNREAD_EVENTS) {
        missedChars += text.length
        return
      }
      missedChars += Math.max(0, text.length - MAX_EVENT_CHARS)
      const note = missedChars === 0 ? "" : `[... ${missedChars} characters not shown ...]\n`
      missedChars = 0
      events.push({ type: "tool-progress", callId, text: note + text.slice(-MAX_EVENT_CHARS) })
    },
    end: () => {
      ended = true
    },
  }
}
