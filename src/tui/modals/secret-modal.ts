import type { ClarifyRequest } from "../../protocol/events.ts"
import { indentedRows, visibleLine } from "../question-text/quoted-rows.ts"
import type { ClarifyDecision } from "./clarify-modal.ts"
import { countdown, hintRows, noticeRows, scrolledRows, titleRow } from "./modal-rows.ts"
import type { Modal } from "./modal.ts"
import { createTextField } from "./text-field.ts"
import { createTypingGuard } from "./typing-guard.ts"

/** Asks for a password or key. What is typed is never shown. */
export function createSecretModal(
  request: ClarifyRequest,
  { openedAt }: { readonly openedAt: number },
): Modal<ClarifyDecision> {
  const field = createTextField({ masked: true })
  // It may be a part of the secret, which must not appear in the draft.
  const guard = createTypingGuard(openedAt, { kept: false })
  return {
    draw: (view) => {
      const { size, theme, now } = view
      const { columns } = size
      const title = titleRow(theme, {
        title: request.kind === "sudo" ? "Password for sudo" : "Hermes asks for a secret",
        fact: countdown(request.expiresAt, now),
        role: "ui_warn",
        columns,
      })
      const notice = guard.notice(now)
      const hint = notice === undefined ? hintRows(theme, HINT, view) : noticeRows(theme, notice, view)
      const { rows: question } = scrolledRows(indentedRows(`  ${visibleLine(request.question.trim())}`, columns), {
        height: Math.max(0, size.rows - 2 - hint.length),
        offset: 0,
        theme,
        columns,
      })
      const typed = field.draw({ prompt: "> ", columns, maxRows: 1 })
      const above = [title, ...question].slice(0, Math.max(0, size.rows - 1))
      const below = hint.slice(0, Math.max(0, size.rows - above.length - 1))
      return {
        rows: [...above, ...typed.rows, ...below],
        cursor: { row: above.length, column: typed.cursor.column },
      }
    },
    key: (event, now) => {
      const chord = event.type === "key" ? event.chord : ""
      if (chord === "escape" || chord === "ctrl+c") return { decision: { kind: "cancelled", text: "" } }
      if (guard.ignores(now)) return undefined
      if (chord === "enter") return { decision: { kind: "answered", text: field.text } }
      field.key(event)
      return undefined
    },
  }
}

const HINT = ["Input is hidden", "Enter sends it", "Esc sends nothing"]
