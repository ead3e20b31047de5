import { ellipsize } from "../../base/text.ts"
import type { ShownDecision } from "../../protocol/events.ts"
import type { AskPort } from "../../toolkit/ports/ask.ts"
import type { CallRun, DispatchSession } from "./dispatch-session.ts"

const DEFAULT_QUESTION_TIMEOUT_MS = 120_000
const MAX_SHOWN_CHARS = 2000

/** Lets a tool ask the user: emits a `clarify-request` and waits for the answer among the open questions of the session. */
export function createAskPort(session: DispatchSession, { interactions, signal, events }: CallRun): AskPort {
  const { permissions, clock, redact } = session
  return {
    ask: async ({ kind, asker, question, choices, allowFreetext }) => {
      if (!permissions.attended()) return { kind: "unattended" }
      if (signal.aborted) return { kind: "interrupted" }
      const requestId = interactions.nextId("clarify")
      const timeoutMs = session.questionTimeoutMs ?? DEFAULT_QUESTION_TIMEOUT_MS
      events.push({
        type: "clarify-request",
        requestId,
        kind,
        ...(asker === undefined ? {} : { asker }),
        question: redact(question),
        choices: choices.map((choice) => redact(choice)),
        allowFreetext,
        expiresAt: timeoutMs > 0 ? (clock.now() + timeoutMs) / 1000 : null,
      })
      const emitAnswered = (choice: string, by: ShownDecision["by"]): void => {
        events.push({ type: "status", kind: "answered", text: "", requestId, question: "clarify", choice, by })
      }
      const answer = await interactions.wait({ id: requestId, kind: "clarify", timeoutMs }, signal)
      if (typeof answer === "string") {
        emitAnswered(answer, answer === "timeout" ? "noninteractive" : "user")
        return { kind: answer }
      }
      // A password goes to the tool and nowhere else.
      emitAnswered(kind === "question" ? ellipsize(redact(answer.text), MAX_SHOWN_CHARS) : "", "user")
      return { kind: "answer", text: answer.text }
    },
  }
}
