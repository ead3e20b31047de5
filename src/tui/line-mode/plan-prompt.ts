import type { Session } from "../../app/session/session.ts"
import { abortPlan, approvePlan, PLAN_LATER } from "../../commands/plan.ts"
import type { SlashOutcome } from "../../commands/slash-command.ts"
import type { PlanReady } from "../../protocol/events.ts"
import type { AskUser } from "./questions.ts"
import { indentedRows, quotedText, visibleLine, wrappedQuestion } from "../question-text/quoted-rows.ts"

export interface PlanQuestion {
  readonly plan: Pick<PlanReady, "path" | "text">
  /** The answer of the turn, which the user has read. */
  readonly answer: string
  readonly ask: AskUser
  readonly columns: () => number
  readonly signal: AbortSignal
}

/** Asks the user about the plan of the turn that has just ended. Enter and Ctrl+C leave it open: plan mode stays on. */
export async function askAboutPlan(
  session: Pick<Session, "plan">,
  { plan, answer, ask, columns, signal }: PlanQuestion,
): Promise<SlashOutcome> {
  let shown = planQuestion(plan, { answer, columns: columns() })
  for (;;) {
    const word =
      (await ask(wrappedQuestion(shown.text, columns()), { secret: false, signal }))?.trim().toLowerCase() ?? ""
    switch (word) {
      case "a":
      case "approve":
        return await approvePlan(session, "approve")
      case "e":
      case "each":
        return await approvePlan(session, "ask")
      case "x":
      case "abort":
        return await abortPlan(session)
      case "r":
      case "revise": {
        const feedback = (await ask("What should change? ", { secret: false, signal }))?.trim() ?? ""
        return feedback === "" ? PLAN_LATER : { kind: "send", text: feedback, typed: true }
      }
      default:
        if (!shown.isCut || !(word === "v" || word === "view")) return PLAN_LATER
        shown = planQuestion(plan, { answer, columns: columns(), whole: true })
    }
  }
}

/** The plan is what the user approves, so it is shown unless it is the answer above. */
function planQuestion(
  { path, text }: Pick<PlanReady, "path" | "text">,
  view: { readonly answer: string; readonly columns: number; readonly whole?: boolean },
): { readonly text: string; readonly isCut: boolean } {
  const { rows, notes, left } = quotedText(text.trim(), view)
  const isRead = text.trim() === view.answer.trim() && notes.length === 0
  const isCut = !isRead && left > 0
  const heading = indentedRows(`The plan in ${visibleLine(path)}:`, view.columns)
  const hints = notes.flatMap((note) => indentedRows(`  ! ${note}`, view.columns))
  const shown = isRead ? [] : [...heading, ...rows, ...hints, ""]
  return { text: ["", ...shown, isCut ? CUT_QUESTION : QUESTION].join("\n"), isCut }
}

const CHOICES =
  "[a]pprove and carry it out, approve but ask before [e]ach change, [r]evise, or [x] abort? (Enter decides later) "
const QUESTION = `The plan is ready. ${CHOICES}`
const CUT_QUESTION = `The plan is ready. [v]iew all of it, ${CHOICES}`
