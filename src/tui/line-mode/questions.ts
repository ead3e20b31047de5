import type { Session } from "../../app/session/session.ts"
import type { ApprovalRequest, ClarifyRequest } from "../../protocol/events.ts"
import type { LiveEvent } from "../chat-ui.ts"
import { approvalQuestion, asksForWholeCall, explainedChoices, parseApprovalAnswer } from "./approval-prompt.ts"
import { clarifyQuestion, parseClarifyAnswer } from "./clarify-prompt.ts"
import type { ClarifyReply } from "./clarify-prompt.ts"
import { CANCELLED_ANSWER, CLARIFY_TIMED_OUT, CLOSED_ELSEWHERE } from "../question-text/clarify-text.ts"
import { wrappedQuestion } from "../question-text/quoted-rows.ts"

/** Reads one line from the user. Undefined after Ctrl+C, at the end of input and when the signal aborts. */
export type AskUser = (
  question: string,
  options: { readonly secret: boolean; readonly signal: AbortSignal },
) => Promise<string | undefined>

export interface QuestionsOptions {
  readonly session: Pick<Session, "answer">
  readonly ask: AskUser
  /** The width of the terminal. */
  readonly columns: () => number
  readonly show: (event: LiveEvent) => void
  readonly note: (text: string) => void
}

/**
 * Passes the events of a run to the screen and asks the user its questions, one after another. While a question is open, other
 * events are held back and shown afterwards. A question that was answered elsewhere, or timed out, is cancelled.
 */
export interface Questions {
  handle(event: LiveEvent): void
  /** Call it when the run has ended. Cancels open questions and shows the held events. */
  finish(): Promise<void>
}

type Request = Extract<LiveEvent, ApprovalRequest | ClarifyRequest>

export function createQuestions(options: QuestionsOptions): Questions {
  const open = new Map<string, AbortController>()
  const held: LiveEvent[] = []
  let asking = Promise.resolve()

  const askUser = async (request: Request, cancelled: AbortSignal): Promise<void> => {
    if (!cancelled.aborted) {
      if (request.type === "approval-request") await askApproval(request, cancelled, options)
      else await askClarify(request, cancelled, options)
    }
    open.delete(request.requestId)
    if (open.size === 0) for (const event of held.splice(0)) options.show(event)
  }

  return {
    handle: (event) => {
      if (event.type === "status" && event.kind === "answered") open.get(event.requestId)?.abort(event.choice)
      if (open.size === 0) options.show(event)
      else held.push(event)
      if (event.type !== "approval-request" && event.type !== "clarify-request") return
      const cancellation = new AbortController()
      open.set(event.requestId, cancellation)
      asking = asking.then(() => askUser(event, cancellation.signal))
    },
    finish: async () => {
      for (const question of open.values()) question.abort()
      await asking
    },
  }
}

async function askApproval(
  request: Extract<Request, ApprovalRequest>,
  signal: AbortSignal,
  options: QuestionsOptions,
): Promise<void> {
  let shown = approvalQuestion(request, { columns: options.columns() })
  let question = `\n${withTimeLimit(shown.text, request)}`
  for (let attempt = 1; ; attempt += 1) {
    const answer = await options.ask(wrappedQuestion(question, options.columns()), { secret: false, signal })
    if (signal.aborted) {
      options.note(
        signal.reason === "timeout" ? "There was no answer in time, so the call was denied." : CLOSED_ELSEWHERE,
      )
      return
    }
    if (shown.isCut && asksForWholeCall(answer)) {
      shown = approvalQuestion(request, { columns: options.columns(), whole: true })
      question = shown.text
      continue
    }
    const choice = parseApprovalAnswer(answer, request)
    if (choice !== undefined || attempt === MAX_APPROVAL_ATTEMPTS) {
      if (choice === undefined) options.note("That is not one of the choices, so the call was denied.")
      options.session.answer(request.requestId, { kind: "approval", choice: choice ?? "deny" })
      return
    }
    question = explainedChoices(request, { ...shown, columns: options.columns() })
  }
}

const MAX_APPROVAL_ATTEMPTS = 5

async function askClarify(
  request: Extract<Request, ClarifyRequest>,
  signal: AbortSignal,
  options: QuestionsOptions,
): Promise<void> {
  const secret = request.kind !== "question"
  let question = `\n${withTimeLimit(clarifyQuestion(request, { columns: options.columns() }), request)}`
  let typing = false
  for (;;) {
    const line = await options.ask(wrappedQuestion(question, options.columns()), { secret, signal })
    if (signal.aborted) {
      options.note(signal.reason === "timeout" ? CLARIFY_TIMED_OUT : CLOSED_ELSEWHERE)
      return
    }
    const reply: ClarifyReply =
      line === undefined
        ? { kind: "answer", text: secret ? "" : CANCELLED_ANSWER }
        : parseClarifyAnswer(line, typing ? { ...request, choices: [] } : request)
    if (reply.kind === "answer") {
      options.session.answer(request.requestId, { kind: "clarify", text: reply.text })
      return
    }
    typing ||= reply.kind === "other"
    question = reply.kind === "other" ? "Your answer: " : `${reply.hint} `
  }
}

/** Appends how long the question stays open; a question without a time limit is unchanged. */
function withTimeLimit(question: string, { expiresAt, ts }: Request): string {
  if (expiresAt === null) return question
  const seconds = Math.max(1, Math.round(expiresAt - ts))
  const [count, unit] = seconds < 120 ? [seconds, "second"] : [Math.round(seconds / 60), "minute"]
  return `${question.trimEnd()} (${count} ${unit}${count === 1 ? "" : "s"} to answer) `
}
