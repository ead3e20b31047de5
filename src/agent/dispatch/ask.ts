import type { Channel } from "../../base/channel.ts"
import type { Clock } from "../../base/clock.ts"
import { ellipsize } from "../../base/text.ts"
import type { AgentEventBody, ShownDecision } from "../../protocol/events.ts"
import type { AskPort } from "../../toolkit/ports/ask.ts"
import type { Interactions } from "../interactions.ts"
import type { Permissions } from "../permissions.ts"

export interface AskOptions {
  readonly permissions: Permissions
  readonly interactions: Interactions
  readonly clock: Clock
  readonly signal: AbortSignal
  readonly events: Channel<AgentEventBody>
  readonly redact: (text: string) => string
  /** How long a question waits; 0 waits for ever. Default two minutes. */
  readonly questionTimeoutMs?: number
}

const DEFAULT_QUESTION_TIMEOUT_MS = 120_000
const MAX_SHOWN_CHARS = 2000

/** How a tool asks the person: a `clarify-request` goes out, and the answer comes back through the open questions of the session. */
export function createAsk(options: AskOptions): AskPort {
  const { permissions, interactions, clock, signal, events, redact } = options
  return {
    ask: async ({ kind, question, choices, allowFreetext }) => {
      if (!permissions.attended) return { kind: "nobody" }
      if (signal.aborted) return { kind: "interrupted" }
      const requestId = interactions.nextId("clarify")
      const timeoutMs = options.questionTimeoutMs ?? DEFAULT_QUESTION_TIMEOUT_MS
      events.push({
        type: "clarify-request",
        requestId,
        kind,
        question: redact(question),
        choices: choices.map((choice) => redact(choice)),
        allowFreetext,
        expiresAt: timeoutMs > 0 ? (clock.now() + timeoutMs) / 1000 : null,
      })
      const told = (choice: string, by: ShownDecision["by"]): void => {
        events.push({ type: "status", kind: "answered", text: "", requestId, question: "clarify", choice, by })
      }
      const answer = await interactions.wait({ id: requestId, kind: "clarify", timeoutMs }, signal)
      if (typeof answer === "string") {
        told(answer, answer === "timeout" ? "noninteractive" : "user")
        return { kind: answer }
      }
      // A password is nobody's business but the tool's.
      told(kind === "question" ? ellipsize(redact(answer.text), MAX_SHOWN_CHARS) : "", "user")
      return { kind: "answer", text: answer.text }
    },
  }
}
