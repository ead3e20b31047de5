import type { EditorKeyAction } from "../../config/editor-keys.ts"
import {
  deleteToLineEnd,
  deleteToLineStart,
  deleteWordLeft,
  deleteWordRight,
  draftOf,
  moveLeft,
  moveToLineEnd,
  moveToLineStart,
  moveWordLeft,
  moveWordRight,
} from "../../terminal/editor/draft.ts"
import type { DraftEdit } from "../../terminal/editor/draft.ts"

/** Actions that only move the cursor. */
export const MOVES = {
  left: moveLeft,
  word_left: moveWordLeft,
  word_right: moveWordRight,
  line_start: moveToLineStart,
  line_end: moveToLineEnd,
  draft_start: (draft) => ({ ...draft, cursor: 0 }),
  draft_end: (draft) => draftOf(draft.text),
} as const satisfies Partial<Record<EditorKeyAction, DraftEdit>>

/** Actions that delete, and keep what was deleted for `yank`. */
export const CUTS = {
  delete_word_left: deleteWordLeft,
  delete_word_right: deleteWordRight,
  delete_to_start: deleteToLineStart,
  delete_to_end: deleteToLineEnd,
} as const satisfies Partial<Record<EditorKeyAction, DraftEdit>>
