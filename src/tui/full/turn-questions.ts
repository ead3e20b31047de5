import type { Session } from "../../app/session/session.ts"
import { errorMessage } from "../../base/system-error.ts"
import type { Answer, ApprovalRequest, ClarifyRequest } from "../../protocol/events.ts"
import type { LiveEvent } from "../chat-ui.ts"
import { createApprovalModal } from "../modals/approval-modal.ts"
import { createClarifyModal } from "../modals/clarify-modal.ts"
import type { Modal } from "../modals/modal.ts"
import { createSecretModal } from "../modals/secret-modal.ts"
import { askerText, CLARIFY_TIMED_OUT, CLOSED_ELSEWHERE } from "../question-text/clarify-text.ts"
import { approvalDecisionText } from "../question-text/approval-text.ts"
import type { ModalHost } from "./modal-host.ts"

export interface TurnQuestionsOptions {
  readonly session: Pick<Session, "answer" | "id">
  readonly modals: ModalHost
  readonly columns: () => number
  /** Milliseconds since the epoch. */
  readonly now: () => number
  readonly note: (text: string) => void
  /** A question waits for the user. */
  readonly asked: (title: string) => void
  /** The user has answered with Ctrl+C: the safe answer, and the end of the turn. */
  readonly stopTurn: () => void
}

/** Shows the questions of a turn as modals, one after another. One that was answered elsewhere, or timed out, is closed. */
export interface TurnQuestions {
  handle(event: LiveEvent): void
  /** The run has ended: closes what is open. */
  close(): void
}

interface Asking {
  readonly signal: AbortSignal
  /** The turn asks, not a task in the background. */
  readonly isOwn: boolean
}

export function createTurnQuestions(options: TurnQuestionsOptions): TurnQuestions {
  const { session, modals, now, note } = options
  const open = new Map<string, AbortController>()
  let isStopped = false
  /** Asks, and remembers whether the user wants to stop. The turn is stopped after the answer was given. */
  const ask = async <T>(create: () => Modal<T>, { signal, isOwn }: Asking): Promise<T | undefined> =>
    await modals.ask(create, signal, {
      interrupted: () => {
        isStopped ||= isOwn
      },
    })
  const answered = (requestId: string, answer: Answer): void => {
    session.answer(requestId, answer)
    if (isStopped) options.stopTurn()
  }

  /** A user who has stopped the turn knows why its other questions disappear. */
  const closed = (): void => {
    if (!isStopped) note(CLOSED_ELSEWHERE)
  }

  const approve = async (request: ApprovalRequest, asking: Asking): Promise<void> => {
    const { signal } = asking
    const choice = await ask(() => createApprovalModal(request, { openedAt: now() }), asking)
    if (choice !== undefined) answered(request.requestId, { kind: "approval", choice })
    else if (signal.reason !== "timeout") return closed()
    note(approvalDecisionText(request, choice ?? "timeout", options.columns()))
  }
  const clarify = async (request: ClarifyRequest, asking: Asking): Promise<void> => {
    const { signal } = asking
    const create = request.kind === "question" ? createClarifyModal : createSecretModal
    const decided = await ask(() => create(request, { openedAt: now() }), asking)
    if (decided === undefined) {
      if (signal.reason === "timeout") note(CLARIFY_TIMED_OUT)
      else closed()
      return
    }
    answered(request.requestId, { kind: "clarify", text: decided.text })
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
      const asking = { signal: cancellation.signal, isOwn: event.sessionId === session.id }
      const answering = event.type === "approval-request" ? approve(event, asking) : clarify(event, asking)
      answering.catch((error: unknown) => note(errorMessage(error))).finally(() => open.delete(event.requestId))
    },
    close: () => {
      for (const question of open.values()) question.abort()
    },
  }
}
