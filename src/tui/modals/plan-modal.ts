import { visibleText } from "../../base/visible-text.ts"
import type { PlanReady } from "../../protocol/events.ts"
import type { Row } from "../drawing.ts"
import { indentedRows, quotedText, visibleLine } from "../question-text/quoted-rows.ts"
import type { Theme } from "../theme/theme.ts"
import { createChoiceQuestion, type QuestionEntry } from "./choice-question.ts"
import { hintRows, titleRow } from "./modal-rows.ts"
import type { Modal, ModalView } from "./modal.ts"
import { createTextField } from "./text-field.ts"

export type PlanDecision =
  /** Carry it out, or carry it out and ask before each change. */
  | { readonly kind: "approve" | "ask" }
  /** The text is sent as the next message. */
  | { readonly kind: "revise"; readonly text: string }
  | { readonly kind: "abort" }
  /** Plan mode stays on. */
  | { readonly kind: "later" }

export interface PlanModalOptions {
  readonly openedAt: number
  /** The answer of the turn, which is above the modal. A plan that is the same is not shown twice. */
  readonly answer?: string
  /** Renders Markdown. Without it, the plan is shown as written. */
  readonly render?: (text: string, view: { readonly theme: Theme; readonly columns: number }) => readonly Row[]
}

/** Asks about the plan of the turn that has just ended. The plan scrolls. */
export function createPlanModal(
  { path, text }: Pick<PlanReady, "path" | "text">,
  { openedAt, answer = "", render }: PlanModalOptions,
): Modal<PlanDecision> {
  const feedback = createTextField({ lines: true })
  let isRevising = false
  let cached: { readonly theme: Theme; readonly columns: number; readonly rows: readonly Row[] } | undefined
  const planRows = ({ theme, size: { columns } }: ModalView): readonly Row[] => {
    if (cached?.theme !== theme || cached.columns !== columns) {
      const plan = text.trim()
      // Hidden characters are invisible in rendered Markdown, so they are listed.
      const notes = visibleText(plan).notes.flatMap((note) => indentedRows(`  ! ${note}`, columns))
      const isAbove = plan === answer.trim() && notes.length === 0
      const rows = isAbove
        ? indentedRows(`It is above, and in ${visibleLine(path)}.`, columns)
        : [
            ...indentedRows(visibleLine(path), columns),
            ...(render?.(plan, { theme, columns }) ?? quotedText(plan, { columns, whole: true }).rows),
            ...notes,
          ]
      cached = { theme, columns, rows }
    }
    return cached.rows
  }
  const question = createChoiceQuestion<PlanDecision["kind"]>({
    title: "The plan is ready",
    role: "ui_accent",
    body: planRows,
    entries: () => ENTRIES,
    initial: "later",
    cancel: "later",
    expiresAt: null,
    hint: ["PgUp and PgDn scroll", "Enter decides", "Esc decides later"],
    openedAt,
  })
  return {
    draw: (view) => (isRevising ? drawFeedback(view) : question.draw(view)),
    key: (event, now) => {
      if (!isRevising) {
        const decided = question.key(event, now)
        if (decided === undefined || "unused" in decided) return decided
        if (decided.decision !== "revise") return { decision: { kind: decided.decision } }
        isRevising = true
        return undefined
      }
      const chord = event.type === "key" ? event.chord : ""
      const typed = feedback.text.trim()
      if (chord === "ctrl+c") return { decision: { kind: "later" } }
      if (chord === "escape" || (chord === "enter" && typed === "")) isRevising = false
      else if (chord === "enter") {
        feedback.set("")
        return { decision: { kind: "revise", text: typed } }
      } else feedback.key(event)
      return undefined
    },
    unsentText: () => feedback.text.trim(),
  }

  function drawFeedback(view: ModalView) {
    const { size, theme } = view
    const field = feedback.draw({ prompt: "> ", columns: size.columns, maxRows: Math.max(1, size.rows - 2) })
    const title = titleRow(theme, { title: "What should change?", role: "ui_accent", columns: size.columns })
    const hint = hintRows(theme, ["Enter sends it to the model", "Shift+Enter adds a line", "Esc goes back"], view)
    const above = size.rows > field.rows.length ? [title] : []
    const below = hint.slice(0, Math.max(0, size.rows - field.rows.length - 1))
    return {
      rows: [...above, ...field.rows, ...below],
      cursor: { row: field.cursor.row + above.length, column: field.cursor.column },
    }
  }
}

const ENTRIES: readonly QuestionEntry<PlanDecision["kind"]>[] = [
  { value: "approve", label: "Approve and carry it out", short: "[A]pprove", letters: ["a"] },
  { value: "ask", label: "Approve, but ask before each change", short: "[E]ach change asks", letters: ["e"] },
  { value: "revise", label: "Revise: say what should change", short: "[R]evise", letters: ["r"] },
  { value: "abort", label: "Abort; the plan stays on disk", short: "[X] abort", letters: ["x"] },
  { value: "later", label: "Decide later; plan mode stays on", short: "[l]ater", letters: ["l"] },
]
