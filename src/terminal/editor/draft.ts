import { nextGrapheme, previousGrapheme } from "../text-width.ts"

/** Text that is being edited. The cursor is an index into the text, between two user-perceived characters. */
export interface Draft {
  readonly text: string
  readonly cursor: number
}

export const EMPTY_DRAFT: Draft = { text: "", cursor: 0 }

export type DraftEdit = (draft: Draft) => Draft

export function draftOf(text: string): Draft {
  return { text, cursor: text.length }
}

/** The cursor stands behind the inserted text, or behind the character that it forms with what follows. */
export function insertText({ text, cursor }: Draft, inserted: string): Draft {
  const result = text.slice(0, cursor) + inserted + text.slice(cursor)
  return { text: result, cursor: boundaryAfter(result, cursor + inserted.length) }
}

export const moveLeft: DraftEdit = (draft) => ({ ...draft, cursor: previousGrapheme(draft.text, draft.cursor) })
export const moveRight: DraftEdit = (draft) => ({ ...draft, cursor: nextGrapheme(draft.text, draft.cursor) })
export const moveWordLeft: DraftEdit = (draft) => ({ ...draft, cursor: wordStart(draft) })
export const moveWordRight: DraftEdit = (draft) => ({ ...draft, cursor: wordEnd(draft) })
export const moveToLineStart: DraftEdit = (draft) => ({ ...draft, cursor: lineStart(draft) })
export const moveToLineEnd: DraftEdit = (draft) => ({ ...draft, cursor: lineEnd(draft) })

export const deleteLeft: DraftEdit = (draft) =>
  deleteRange(draft, previousGrapheme(draft.text, draft.cursor), draft.cursor)
export const deleteRight: DraftEdit = (draft) =>
  deleteRange(draft, draft.cursor, nextGrapheme(draft.text, draft.cursor))
export const deleteWordLeft: DraftEdit = (draft) => deleteRange(draft, wordStart(draft), draft.cursor)
export const deleteWordRight: DraftEdit = (draft) => deleteRange(draft, draft.cursor, wordEnd(draft))

/** At the start of a line it joins the line with the one before. */
export const deleteToLineStart: DraftEdit = (draft) => {
  const start = lineStart(draft)
  return deleteRange(draft, start === draft.cursor ? Math.max(0, start - 1) : start, draft.cursor)
}

/** At the end of a line it joins the line with the next one. */
export const deleteToLineEnd: DraftEdit = (draft) => {
  const end = lineEnd(draft)
  return deleteRange(draft, draft.cursor, end === draft.cursor ? end + 1 : end)
}

/** Moves to the line above, at about the same distance from its start. Undefined on the first line. */
export function moveUp(draft: Draft): Draft | undefined {
  const start = lineStart(draft)
  if (start === 0) return undefined
  const above = lineStart({ ...draft, cursor: start - 1 })
  return { ...draft, cursor: boundary(draft.text, Math.min(above + draft.cursor - start, start - 1)) }
}

/** Undefined on the last line. */
export function moveDown(draft: Draft): Draft | undefined {
  const end = lineEnd(draft)
  if (end === draft.text.length) return undefined
  const below = lineEnd({ ...draft, cursor: end + 1 })
  return { ...draft, cursor: boundary(draft.text, Math.min(end + 1 + draft.cursor - lineStart(draft), below)) }
}

export function lineStart({ text, cursor }: Draft): number {
  return cursor === 0 ? 0 : text.lastIndexOf("\n", cursor - 1) + 1
}

export function lineEnd({ text, cursor }: Draft): number {
  const end = text.indexOf("\n", cursor)
  return end === -1 ? text.length : end
}

function wordStart({ text, cursor }: Draft): number {
  return boundary(text, /[\p{L}\p{N}\p{M}_]*[^\p{L}\p{N}\p{M}_]*$/u.exec(text.slice(0, cursor))?.index ?? 0)
}

function wordEnd({ text, cursor }: Draft): number {
  const length = /^[^\p{L}\p{N}\p{M}_]*[\p{L}\p{N}\p{M}_]*/u.exec(text.slice(cursor))?.[0].length ?? 0
  return boundaryAfter(text, cursor + length)
}

/** The nearest boundary between characters at or after the index. */
function boundaryAfter(text: string, index: number): number {
  const before = boundary(text, index)
  return before === index ? index : nextGrapheme(text, before)
}

/** The nearest boundary between characters at or before the index. */
export function boundary(text: string, index: number): number {
  if (index === 0 || index >= text.length) return Math.min(index, text.length)
  const start = previousGrapheme(text, index)
  return nextGrapheme(text, start) > index ? start : index
}

/** Removes a part of the text. Where the parts around it form one character, the cursor stands before that. */
export function deleteRange({ text }: Draft, from: number, to: number): Draft {
  const rest = text.slice(0, from) + text.slice(to)
  return { text: rest, cursor: boundary(rest, from) }
}
