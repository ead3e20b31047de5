import type { ClarifyRequest } from "../../protocol/events.ts"
import type { Drawing, Row } from "../drawing.ts"
import {
  askerText,
  CANCELLED_ANSWER,
  choiceLine,
  OTHER_CHOICE,
  passwordWarning,
} from "../question-text/clarify-text.ts"
import { indentedRows, quotedText } from "../question-text/quoted-rows.ts"
import { countdown, cutRow, entryRow, hintRows, noticeRows, scrolledRows, titleRow } from "./modal-rows.ts"
import type { Decision, Modal, ModalView } from "./modal.ts"
import { createTextField, isTyped } from "./text-field.ts"
import { createTypingGuard } from "./typing-guard.ts"

/** `text` is the answer to pass on, also when the user cancelled. */
export interface ClarifyDecision {
  readonly kind: "answered" | "cancelled"
  readonly text: string
}

/** Asks a question of the model, or of Hermes: a list of choices, a free answer, or both. */
export function createClarifyModal(
  request: ClarifyRequest,
  { openedAt }: { readonly openedAt: number },
): Modal<ClarifyDecision> {
  const { choices } = request
  // Without choices there is no other way to answer.
  const allowsText = request.allowFreetext || choices.length === 0
  const entries = [...choices.map(choiceLine), ...(allowsText && choices.length > 0 ? [OTHER_CHOICE] : [])]
  const field = createTextField({ lines: true })
  const warning = passwordWarning(request)
  const guard = createTypingGuard(openedAt)
  let selected = 0
  let isTyping = choices.length === 0
  let notice = ""
  let offset = 0
  let page = 1

  const answer = (text: string): Decision<ClarifyDecision> => {
    field.set("")
    return { decision: { kind: "answered", text } }
  }
  const choose = (index: number): Decision<ClarifyDecision> | undefined => {
    const choice = choices[index]
    if (choice !== undefined) return answer(choice)
    if (index < entries.length) {
      selected = index
      isTyping = true
    }
    return undefined
  }
  const typingKey = (chord: string): Decision<ClarifyDecision> | undefined | "edit" => {
    if (chord === "enter") {
      const text = field.text.trim()
      if (text !== "") return answer(text)
      notice = "Type an answer, or press Esc to skip."
      return undefined
    }
    const leaves = choices.length > 0 && (chord === "escape" || chord === "up" || chord === "shift+tab")
    if (!leaves) return "edit"
    isTyping = false
    selected = chord === "escape" ? selected : choices.length - 1
    return undefined
  }

  return {
    draw: (view) => {
      const { size, theme, now } = view
      const { columns, rows } = size
      const message = guard.notice(now) ?? notice
      const hint =
        message === ""
          ? hintRows(theme, isTyping ? typingHint(choices) : CHOICE_HINT, view)
          : noticeRows(theme, message, view)
      const typed = isTyping
        ? field.draw({ prompt: "> ", columns, maxRows: Math.max(1, Math.min(4, rows - 5)) })
        : undefined
      const room = rows - 1 - hint.length - (typed?.rows.length ?? 0)
      const quoted = quotedText(request.question.trim(), { columns, whole: true })
      const question = [
        ...quoted.rows,
        ...quoted.notes.flatMap((note) => indentedRows(`  ! ${note}`, columns)),
        ...(warning === undefined ? [] : indentedRows(`  (${warning})`, columns)),
      ]
      const list = entryRows(entries, {
        selected,
        theme,
        columns,
        room: room - Math.min(question.length, MIN_QUESTION_ROWS),
      })
      const height = Math.max(0, room - list.length)
      const body = scrolledRows(question, { height, offset, theme, columns })
      offset = body.offset
      page = Math.max(1, height - 2)
      const title = titleRow(theme, {
        title: askerText(request),
        fact: countdown(request.expiresAt, now),
        role: "ui_accent",
        columns,
      })
      return assembled({ title, body: body.rows, list, typed, hint }, rows)
    },
    key: (event, now) => {
      notice = ""
      const chord = event.type === "key" ? event.chord : ""
      if (chord === "ctrl+c" || (chord === "escape" && (!isTyping || choices.length === 0)))
        return { decision: { kind: "cancelled", text: CANCELLED_ANSWER } }
      if (guard.ignores(now)) return { unused: [event] }
      if (chord === "pageup" || chord === "pagedown") {
        offset = Math.max(0, offset + (chord === "pageup" ? -page : page))
        return undefined
      }
      if (isTyping) {
        const decided = typingKey(chord)
        if (decided !== "edit") return decided
        field.key(event)
        return undefined
      }
      if (chord === "enter") return choose(selected)
      if (chord === "up" || chord === "shift+tab") selected = (selected + entries.length - 1) % entries.length
      else if (chord === "down" || chord === "tab") selected = (selected + 1) % entries.length
      else if (event.type === "key" && /^[1-9]$/u.test(event.text)) return choose(Number(event.text) - 1)
      else if (allowsText && (event.type === "paste" || isTyped(event))) {
        choose(entries.length - 1)
        field.key(event)
      } else return { unused: [event] }
      return undefined
    },
    unsentText: () => field.text.trim(),
  }
}

const MAX_SELECTED_ROWS = 3
const MIN_QUESTION_ROWS = 4
const CHOICE_HINT = ["Arrows and Enter, or a number", "Esc skips", "Ctrl+C stops the turn"]

function typingHint(choices: readonly string[]): readonly string[] {
  const escape = choices.length === 0 ? "Esc skips" : "Esc goes back to the choices"
  return ["Enter sends the answer", escape, "Shift+Enter adds a line"]
}

/** Whole entries if there is room for them, else one row for each and some more for the selected one. */
function entryRows(
  entries: readonly string[],
  view: {
    readonly selected: number
    readonly theme: ModalView["theme"]
    readonly columns: number
    readonly room: number
  },
): readonly Row[] {
  const { selected, theme, columns, room } = view
  const wrapped = entries.map((entry, index) => indentedRows(`${index + 1}. ${entry}`, columns - 2))
  const isRoomy = wrapped.flat().length <= room
  const forSelected = 1 + Math.max(0, Math.min(room - entries.length, MAX_SELECTED_ROWS - 1))
  return wrapped.flatMap((rows, index) => {
    const isSelected = index === selected
    const limit = isRoomy ? rows.length : isSelected ? forSelected : 1
    return shortened(rows, limit, columns - 2).map((row, line) =>
      entryRow(theme, row, { isSelected: isSelected && line === 0, columns }),
    )
  })
}

function shortened(rows: readonly string[], limit: number, columns: number): readonly string[] {
  if (rows.length <= limit) return rows
  const [last = "", ...rest] = rows.slice(limit - 1)
  return [...rows.slice(0, limit - 1), cutRow([last, ...rest.map((row) => row.trimStart())].join(" "), columns)]
}

function assembled(
  parts: {
    readonly title: Row
    readonly body: readonly Row[]
    readonly list: readonly Row[]
    readonly typed: Drawing | undefined
    readonly hint: readonly Row[]
  },
  height: number,
): Drawing {
  const { title, body, list, typed, hint } = parts
  const below = [...list, ...(typed?.rows ?? [])]
  const all = [title, ...body, ...below, ...hint]
  // On a tiny terminal, what can be chosen or typed is left.
  const rows = all.length <= height ? all : below.slice(-height)
  const start = rows.length - (rows === all ? hint.length : 0) - (typed?.rows.length ?? 0)
  if (typed?.cursor === undefined) return { rows }
  return { rows, cursor: { row: start + typed.cursor.row, column: typed.cursor.column } }
}
