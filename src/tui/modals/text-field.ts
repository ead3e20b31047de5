import { plainText } from "../../terminal/printable-text.ts"
import {
  deleteLeft,
  deleteRight,
  deleteToLineEnd,
  deleteToLineStart,
  deleteWordLeft,
  deleteWordRight,
  draftOf,
  insertText,
  moveLeft,
  moveRight,
  moveToLineEnd,
  moveToLineStart,
  moveWordLeft,
  moveWordRight,
  type Draft,
  type DraftEdit,
} from "../../terminal/editor/draft.ts"
import { draftRows } from "../../terminal/editor/draft-rows.ts"
import { graphemes } from "../../terminal/text-width.ts"
import type { Position, Row } from "../drawing.ts"
import type { KeyEvent } from "../screen/key-event.ts"

/** A text that the user edits inside a modal. */
export interface TextField {
  readonly text: string
  set(text: string): void
  /** Returns false for a key that does not edit. */
  key(event: KeyEvent): boolean
  draw(view: { readonly prompt: string; readonly columns: number; readonly maxRows: number }): {
    readonly rows: readonly Row[]
    readonly cursor: Position
  }
}

export interface TextFieldOptions {
  readonly text?: string
  /** Shows a dot for each character, and keeps the text exactly as it was typed. */
  readonly masked?: boolean
  /** Shift+Enter and pasted text can add lines. */
  readonly lines?: boolean
}

export function createTextField({ text = "", masked = false, lines = false }: TextFieldOptions = {}): TextField {
  let draft = draftOf(masked ? text : plainText(text))
  const insert = (typed: string): void => {
    const oneLine = lines ? typed.replaceAll("\r\n", "\n") : typed.trimEnd().replaceAll(/[\r\n]+/gu, " ")
    const printable = masked ? typed.replace(/[\r\n]+$/u, "") : plainText(oneLine)
    draft = insertText(draft, printable.slice(0, Math.max(0, MAX_CHARS - draft.text.length)))
  }
  return {
    get text() {
      return draft.text
    },
    set: (next) => {
      draft = draftOf(plainText(next))
    },
    key: (event) => {
      if (event.type === "paste") {
        insert(event.text)
        return true
      }
      const edit = EDITS[event.chord]
      if (edit !== undefined) draft = edit(draft)
      else if (lines && NEW_LINE.has(event.chord)) draft = insertText(draft, "\n")
      else if (isTyped(event)) draft = insertText(draft, event.text)
      else return false
      return true
    },
    draw: ({ prompt, columns, maxRows }) =>
      draftRows({ prompt, draft: masked ? maskedDraft(draft) : draft, columns, maxRows }),
  }
}

/** The key inserts its text. */
export function isTyped(event: KeyEvent): boolean {
  return (
    event.type === "key" && event.text !== "" && !/^(?:ctrl|alt)\+/u.test(event.chord) && !/\p{Cc}/u.test(event.text)
  )
}

/** The key changes a text at the cursor: what it does while a message is typed. */
export function isTextEdit(event: KeyEvent): boolean {
  return event.type === "paste" || isTyped(event) || event.chord === "backspace" || NEW_LINE.has(event.chord)
}

/** More than a person types; keeps drawing cheap. */
const MAX_CHARS = 20_000

const NEW_LINE: ReadonlySet<string> = new Set(["shift+enter", "alt+enter", "ctrl+enter", "ctrl+j"])

const EDITS: Readonly<Record<string, DraftEdit>> = {
  left: moveLeft,
  "ctrl+b": moveLeft,
  right: moveRight,
  "ctrl+f": moveRight,
  "ctrl+left": moveWordLeft,
  "alt+left": moveWordLeft,
  "alt+b": moveWordLeft,
  "ctrl+right": moveWordRight,
  "alt+right": moveWordRight,
  "alt+f": moveWordRight,
  home: moveToLineStart,
  "ctrl+a": moveToLineStart,
  end: moveToLineEnd,
  "ctrl+e": moveToLineEnd,
  backspace: deleteLeft,
  "ctrl+h": deleteLeft,
  delete: deleteRight,
  "ctrl+d": deleteRight,
  "ctrl+w": deleteWordLeft,
  "alt+backspace": deleteWordLeft,
  "alt+d": deleteWordRight,
  "ctrl+u": deleteToLineStart,
  "ctrl+k": deleteToLineEnd,
}

function maskedDraft({ text, cursor }: Draft): Draft {
  const dots = (part: string): string => "•".repeat(Array.from(graphemes(part)).length)
  const before = dots(text.slice(0, cursor))
  return { text: before + dots(text.slice(cursor)), cursor: before.length }
}
