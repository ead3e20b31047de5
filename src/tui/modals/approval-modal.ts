import type { ApprovalRequest } from "../../protocol/events.ts"
import { approvalText, type ApprovalAnswer, type ApprovalText } from "../question-text/approval-text.ts"
import { createChoiceQuestion, type QuestionEntry } from "./choice-question.ts"
import type { Modal } from "./modal.ts"

/** Asks whether a call may run. Denying is the default; a long command is folded. */
export function createApprovalModal(
  request: ApprovalRequest,
  { openedAt }: { readonly openedAt: number },
): Modal<ApprovalAnswer> {
  let isWhole = false
  let cached: { readonly columns: number; readonly isWhole: boolean; readonly text: ApprovalText } | undefined
  // A command may have megabytes, and a countdown is drawn every second.
  const textFor = (columns: number): ApprovalText => {
    if (cached?.columns !== columns || cached.isWhole !== isWhole) {
      const text = approvalText(request, isWhole ? { columns, whole: true } : { columns, fold: FOLDED_ROWS })
      cached = { columns, isWhole, text }
    }
    return cached.text
  }
  const modal = createChoiceQuestion<ApprovalAnswer | typeof SHOW_ALL>({
    title: "Hermes wants to run",
    role: "ui_warn",
    body: ({ size, theme }) => {
      const { subject, about, rule } = textFor(size.columns)
      return [...subject.map((row) => theme.style("bold", row)), ...about, ...rule]
    },
    entries: () => [
      ...ENTRIES.filter(({ value }) => value !== SHOW_ALL && request.choices.includes(value)),
      ...(cached?.text.isCut === true ? ENTRIES.filter(({ value }) => value === SHOW_ALL) : []),
    ],
    initial: "deny",
    cancel: "deny",
    expiresAt: request.expiresAt,
    mustBeRead: true,
    hint: ["Arrows, number or letter, then Enter", "Esc denies", "Ctrl+C stops the turn"],
    openedAt,
  })
  return {
    draw: (view) => {
      // Whether there is something to show is known only for a width.
      textFor(view.size.columns)
      return modal.draw(view)
    },
    key: (event, now) => {
      const decided = modal.key(event, now)
      if (decided === undefined || "unused" in decided) return decided
      const { decision } = decided
      if (decision !== SHOW_ALL) return { decision }
      isWhole = true
      return undefined
    },
  }
}

const FOLDED_ROWS = 3
const SHOW_ALL = "show-all"

const ENTRIES: readonly QuestionEntry<ApprovalAnswer | typeof SHOW_ALL>[] = [
  { value: "once", label: "Allow once", short: "[o]nce", letters: ["o"] },
  { value: "session", label: "Allow for this session", short: "[s]ession", letters: ["s"] },
  {
    value: "always",
    label: "Always allow, and save the rule",
    short: "[a]lways",
    letters: ["a"],
    confirm: "Press Enter again to save the rule: it is valid in later conversations too.",
  },
  { value: "deny", label: "Deny", short: "[d]eny", letters: ["d", "n"] },
  { value: SHOW_ALL, label: "Show all of it first", short: "[v]iew all", letters: ["v"] },
]
