import type { Session } from "../../app/session.ts"
import type { AgentEvent, ApprovalRequest, ClarifyRequest } from "../../protocol/events.ts"
import { approvalQuestion, readChoice } from "./approval-prompt.ts"
import { clarifyQuestion, readClarify } from "./clarify-prompt.ts"
import type { ClarifyReply } from "./clarify-prompt.ts"

export type LiveEvent = Exclude<AgentEvent, { type: "run-end" }>

/** Reads one line from the person; undefined when they give none: Ctrl+C, end of input, or the signal took the question back. */
export type AskPerson = (
  question: string,
  options: { readonly secret: boolean; readonly signal: AbortSignal },
) => Promise<string | undefined>

export interface QuestionsOptions {
  readonly session: Pick<Session, "answer">
  readonly ask: AskPerson
  readonly show: (event: LiveEvent) => void
  readonly note: (text: string) => void
}

/**
 * Stands between a run and the screen. Its questions are put to the person one after another; while one is open the screen
 * stands still, and what happens meanwhile is shown afterwards. A question that was settled without the person is taken back.
 */
export interface Questions {
  pass(event: LiveEvent): void
  /** The run is over: takes back what is open and shows what was held. */
  finish(): Promise<void>
}

type Request = Extract<LiveEvent, ApprovalRequest | ClarifyRequest>

export function createQuestions(options: QuestionsOptions): Questions {
  const open = new Map<string, AbortController>()
  const held: LiveEvent[] = []
  let asking = Promise.resolve()

  const put = async (request: Request, takenBack: AbortSignal): Promise<void> => {
    if (!takenBack.aborted) {
      if (request.type === "approval-request") await askApproval(request, takenBack, options)
      else await askClarify(request, takenBack, options)
    }
    open.delete(request.requestId)
    if (open.size === 0) for (const event of held.splice(0)) options.show(event)
  }

  return {
    pass: (event) => {
      if (event.type === "status" && event.kind === "answered") open.get(event.requestId)?.abort(event.choice)
      if (open.size === 0) options.show(event)
      else held.push(event)
      if (event.type !== "approval-request" && event.type !== "clarify-request") return
      const takenBack = new AbortController()
      open.set(event.requestId, takenBack)
      asking = asking.then(() => put(event, takenBack.signal))
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
  const answer = await options.ask(`\n${withPatience(approvalQuestion(request), request)}`, { secret: false, signal })
  if (signal.aborted)
    options.note(signal.reason === "timeout" ? "No answer came in time, so it was not done." : TAKEN_BACK)
  else options.session.answer(request.requestId, { kind: "approval", choice: readChoice(answer) })
}

async function askClarify(
  request: Extract<Request, ClarifyRequest>,
  signal: AbortSignal,
  options: QuestionsOptions,
): Promise<void> {
  const secret = request.kind !== "question"
  let question = `\n${withPatience(clarifyQuestion(request), request)}`
  let typing = false
  for (;;) {
    const line = await options.ask(question, { secret, signal })
    if (signal.aborted) {
      options.note(signal.reason === "timeout" ? "No answer came in time; Hermes decides by itself." : TAKEN_BACK)
      return
    }
    const reply: ClarifyReply =
      line === undefined
        ? { kind: "answer", text: secret ? "" : CANCELLED }
        : readClarify(line, typing ? { ...request, choices: [] } : request)
    if (reply.kind === "answer") {
      options.session.answer(request.requestId, { kind: "clarify", text: reply.text })
      return
    }
    typing ||= reply.kind === "other"
    question = reply.kind === "other" ? "Your answer: " : `${reply.hint} `
  }
}

/** Ends with how long the question waits, unless it waits for ever. */
function withPatience(question: string, { expiresAt, ts }: Request): string {
  if (expiresAt === null) return question
  const seconds = Math.max(1, Math.round(expiresAt - ts))
  const [count, unit] = seconds < 120 ? [seconds, "second"] : [Math.round(seconds / 60), "minute"]
  return `${question.trimEnd()} (${count} ${unit}${count === 1 ? "" : "s"} to answer) `
}

const TAKEN_BACK = "The question is closed; Hermes goes on without an answer."

/** What the model reads when the person does not want to answer. */
const CANCELLED = "(The person cancelled this question. Go on without an answer, or say what you need it for.)"
