import type { Session } from "../../app/session/session.ts"
import { errorMessage } from "../../base/system-error.ts"
import type { ApprovalRequest, ClarifyRequest } from "../../protocol/events.ts"
import type { LiveEvent } from "../chat-ui.ts"
import { createApprovalModal } from "../modals/approval-modal.ts"
import { createClarifyModal } from "../modals/clarify-modal.ts"
import { createSecretModal } from "../modals/secret-modal.ts"
import { askerText, CLARIFY_TIMED_OUT, CLOSED_ELSEWHERE } from "../question-text/clarify-text.ts"
import { approvalDecisionText } from "../question-text/approval-text.ts"
import type { ModalHost } from "./modal-host.ts"

export interface TurnQuestionsOptions {
  readonly session: Pick<Session, "answer">
  readonly modals: ModalHost
  readonly columns: () => number
  /** Milliseconds since the epoch. */
  readonly now: () => number
  readonly note: (text: string) => void
  /** A question waits for the user. */
  readonly asked: (title: string) => void
}

/** Shows the questions of a turn as modals, one after another. One that was answered elsewhere, or timed out, is closed. */
export interface TurnQuestions {
  handle(event: LiveEvent): void
  /** The run has ended: closes what is open. */
  close(): void
}

export function createTurnQuestions(options: TurnQuestionsOptions): TurnQuestions {
  const { session, modals, now, note } = options
  const open = new Map<string, AbortController>()

  const approve = async (request: ApprovalRequest, signal: AbortSignal): Promise<void> => {
    const choice = await modals.ask(() => createApprovalModal(request, { openedAt: now() }), signal)
    if (choice !== undefined) session.answer(request.requestId, { kind: "approval", choice })
    else if (signal.reason !== "timeout") return note(CLOSED_ELSEWHERE)
    note(approvalDecisionText(request, choice ?? "timeout", options.columns()))
  }
  const clarify = async (request: ClarifyRequest, signal: AbortSignal): Promise<void> => {
    const create = request.kind === "question" ? createClarifyModal : createSecretModal
    const decided = await modals.ask(() => create(request, { openedAt: now() }), signal)
    if (decided === undefined) {
      note(signal.reason === "timeout" ? CLARIFY_TIMED_OUT : CLOSED_ELSEWHERE)
      return
    }
    session.answer(request.requestId, { kind: "clarify", text: decided.text })
    // A secret is never shown.
    if (request.kind !== "question") return
    const answer = decided.kind === "answered" ? decided.text : "(no answer)"
    note(`${askerText(request)}: ${request.question}\n  ${answer}`)
  }

  return {
    handle: (event) => {
      if (event.type === "status" && event.kind === "answered") open.get(event.requestId)?.abort(event.choice)
      if (event.type !== "approval-request" && event.type !== "clarify-request") return
      const cancellation = new AbortController()
      open.set(event.requestId, cancellation)
      options.asked(event.type === "approval-request" ? "Hermes asks for approval" : "Hermes has a question")
      const answered =
        event.type === "approval-request" ? approve(event, cancellation.signal) : clarify(event, cancellation.signal)
      answered.catch((error: unknown) => note(errorMessage(error))).finally(() => open.delete(event.requestId))
    },
    close: () => {
      for (const question of open.values()) question.abort()
    },
  }
}
