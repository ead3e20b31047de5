import type { Drawing, Row } from "../drawing.ts"
import type { ColorRole, Theme } from "../theme/theme.ts"
import type { KeyEvent } from "../screen/key-event.ts"
import type { Modal, ModalView, UnusedKeys } from "./modal.ts"
import { countdown, cutRow, entryRow, hintRows, noticeRows, scrolledRows, SELECTED, titleRow } from "./modal-rows.ts"
import { textColumns } from "../../terminal/text-width.ts"
import { isTyped } from "./text-field.ts"
import { createTypingGuard } from "./typing-guard.ts"

export interface QuestionEntry<T> {
  readonly value: T
  readonly label: string
  /** A shorter label for one row with all entries, with the letter in brackets: `[o]nce`. */
  readonly short: string
  /** Letters that choose it. The first one is shown. */
  readonly letters: readonly [string, ...string[]]
  /** What Enter would do, said before a second Enter does it; for answers that stay. */
  readonly confirm?: string
}

export interface ChoiceQuestion<T> {
  readonly title: string
  readonly role: ColorRole
  /** Rows above the entries. They scroll if there is not enough room. */
  readonly body: (view: ModalView) => readonly Row[]
  readonly entries: () => readonly QuestionEntry<T>[]
  /** The entry that is highlighted first. */
  readonly initial: T
  /** The answer of Esc and Ctrl+C. */
  readonly cancel: T
  /** Epoch seconds. */
  readonly expiresAt: number | null
  /** What the keys do, the most important first. */
  readonly hint: readonly string[]
  /** Another answer than `cancel` is accepted only when all of the body was on the screen. */
  readonly mustBeRead?: boolean
  /** Milliseconds since the epoch. */
  readonly openedAt: number
}

/** A shorter time between a key and Enter is that of a paste, or of a message that was being typed. */
const SETTLED_MS = 150
/** Letters that follow one another within this time are a word, not a choice. */
const WORD_MS = 1500

/**
 * A question with a few fixed answers. Arrows, digits and letters select one, Enter gives it: a single key that was typed for something else
 * never answers, and what was typed for a message is returned as unused. The answers stay visible on short terminals.
 */
export function createChoiceQuestion<T>(question: ChoiceQuestion<T>): Modal<T> {
  const guard = createTypingGuard(question.openedAt)
  let selected = question.initial
  let offset = 0
  let page = 1
  let bodyRows = 0
  let readRows = 0
  let notice: string | undefined
  let lastKeyAt = Number.NEGATIVE_INFINITY
  let lastLetterAt = Number.NEGATIVE_INFINITY
  let isConfirming = false
  /** The letter that has selected an answer. If more letters follow, it was the first one of a word. */
  let letter: KeyEvent | undefined

  const select = (value: T, now: number): undefined => {
    selected = value
    lastKeyAt = now
    isConfirming = false
    letter = undefined
    return undefined
  }
  const ignore = (event: KeyEvent, now: number): UnusedKeys => {
    guard.typed(now)
    const unused = letter !== undefined && now - lastLetterAt < WORD_MS ? [letter, event] : [event]
    select(question.initial, now)
    return { unused }
  }
  const confirm = (event: KeyEvent, now: number): { readonly decision: T } | UnusedKeys | undefined => {
    if (now - lastKeyAt < SETTLED_MS) return ignore(event, now)
    if (question.mustBeRead === true && selected !== question.cancel && readRows < bodyRows) {
      offset += page
      lastKeyAt = now
      notice = "Read the rest first: Enter shows more, and decides at the end."
      return undefined
    }
    const text = question.entries().find(({ value }) => value === selected)?.confirm
    if (text === undefined || isConfirming) {
      const decision = selected
      // The caller may ask again, for example after it has shown more.
      select(question.initial, now)
      return { decision }
    }
    isConfirming = true
    lastKeyAt = now
    notice = text
    return undefined
  }
  const move = (by: number, now: number): undefined => {
    const entries = question.entries()
    const from = entries.findIndex(({ value }) => value === selected)
    return select(entries[(from + by + entries.length) % entries.length]?.value ?? selected, now)
  }
  const scroll = (by: number): undefined => {
    offset = Math.max(0, offset + by)
    return undefined
  }
  return {
    draw: (view) => {
      const { size, theme, now } = view
      const entries = question.entries()
      const message = guard.notice(now) ?? notice
      const hint = message === undefined ? hintRows(theme, question.hint, view) : noticeRows(theme, message, view)
      const frame = 1 + hint.length
      const layout = questionLayout(question.body(view), entries, { columns: size.columns, rows: size.rows - frame })
      const { rows: body, offset: used } = scrolledRows(layout.body, {
        height: layout.bodyRows,
        offset,
        theme,
        columns: size.columns,
      })
      offset = used
      bodyRows = layout.body.length
      readRows = Math.max(readRows, used + layout.bodyRows)
      page = Math.max(1, layout.bodyRows - 2)
      const title = titleRow(theme, {
        title: question.title,
        fact: countdown(question.expiresAt, now),
        role: question.role,
        columns: size.columns,
      })
      const choices = layout.isCompact
        ? compactRows(entries, { selected, columns: size.columns, theme })
        : entries.map((entry, index) =>
            entryRow(theme, `${index + 1}. [${entry.letters[0].toUpperCase()}] ${entry.label}`, {
              isSelected: entry.value === selected,
              columns: size.columns,
            }),
          )
      return fitted([title, ...body, ...choices], { hint, choices: choices.length, rows: size.rows })
    },
    key: (event, now) => {
      notice = undefined
      if (event.type === "paste") return ignore(event, now)
      if (event.chord === "escape" || event.chord === "ctrl+c") return { decision: question.cancel }
      if (guard.ignores(now)) return ignore(event, now)
      switch (event.chord) {
        case "up":
        case "left":
        case "shift+tab":
          return move(-1, now)
        case "down":
        case "right":
        case "tab":
          return move(1, now)
        case "pageup":
          return scroll(-page)
        case "pagedown":
          return scroll(page)
        case "enter":
          return confirm(event, now)
      }
      if (!isTyped(event)) return undefined
      const typed = event.text.toLowerCase()
      const entries = question.entries()
      const chosen = entries.find(({ letters }) => letters.includes(typed)) ?? entries[digit(typed) - 1]
      if (chosen === undefined || now - lastLetterAt < WORD_MS) return ignore(event, now)
      select(chosen.value, now)
      lastLetterAt = now
      letter = event
      return undefined
    },
  }
}

function digit(typed: string): number {
  return /^[1-9]$/u.test(typed) ? Number(typed) : Number.NaN
}

interface QuestionLayout {
  readonly body: readonly Row[]
  readonly bodyRows: number
  /** The entries share rows, because there is no room for one row each. */
  readonly isCompact: boolean
}

const MIN_BODY_ROWS = 4

function questionLayout<T>(
  body: readonly Row[],
  entries: readonly QuestionEntry<T>[],
  { columns, rows }: ModalView["size"],
): QuestionLayout {
  const room = rows - entries.length
  const isCompact = room < Math.min(MIN_BODY_ROWS, body.length)
  const choiceRows = isCompact ? compactLines(entries, columns).length : entries.length
  return { body, bodyRows: Math.max(0, Math.min(body.length, rows - choiceRows)), isCompact }
}

/** Entries that share rows, in groups that fit. */
function compactLines<T>(
  entries: readonly QuestionEntry<T>[],
  columns: number,
): readonly (readonly QuestionEntry<T>[])[] {
  const lines: QuestionEntry<T>[][] = []
  let used = Number.POSITIVE_INFINITY
  for (const entry of entries) {
    const width = SELECTED.length + textColumns(entry.short) + 1
    if (used + width > columns) {
      lines.push([])
      used = 0
    }
    lines.at(-1)?.push(entry)
    used += width
  }
  return lines
}

function compactRows<T>(
  entries: readonly QuestionEntry<T>[],
  { selected, columns, theme }: { readonly selected: T; readonly columns: number; readonly theme: Theme },
): readonly Row[] {
  return compactLines(entries, columns).map((line) =>
    line
      .map(({ value, short }) =>
        entryRow(theme, cutRow(short, columns - SELECTED.length), { isSelected: value === selected, columns }),
      )
      .join(" "),
  )
}

/** The rows with the hint, where there is room for it; on tiny terminals only the choices are left. */
function fitted(
  rows: readonly Row[],
  { hint, choices, rows: height }: { readonly hint: readonly Row[]; readonly choices: number; readonly rows: number },
): Drawing {
  if (rows.length < height) return { rows: [...rows, ...hint.slice(0, height - rows.length)] }
  return { rows: rows.length > height ? rows.slice(-Math.max(choices, 1)).slice(0, height) : rows }
}
