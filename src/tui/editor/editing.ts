import { EMPTY_DRAFT, insertText } from "../../terminal/editor/draft.ts"
import type { Draft, DraftEdit } from "../../terminal/editor/draft.ts"
import { createEditHistory } from "./edit-history.ts"
import { withoutLeakedReport } from "./input-text.ts"

/** The draft with its undo steps and the text that was cut last. */
export interface Editing {
  readonly draft: Draft
  /** Inserts typed text. */
  type(text: string): void
  /** Inserts text as one undo step. */
  insert(text: string): void
  move(edit: DraftEdit): void
  /** Deletes; several deletions in a row are one undo step. */
  delete(edit: DraftEdit): void
  /** Deletes and keeps the text for `yank`. Several cuts in a row are kept together. */
  cut(edit: DraftEdit): void
  yank(): void
  /** Replaces the draft. Changes of the same group, one after the other, are undone together. */
  change(draft: Draft, group?: string): void
  endGroup(): void
  /** Returns false when there is nothing to undo. */
  undo(): boolean
  redo(): boolean
  /** Starts over: nothing can be undone. */
  reset(draft?: Draft): void
}

/** `insertion`: everything between entering and leaving insert mode is undone together, as in Vim. */
export function createEditing({ undoStep }: { readonly undoStep: () => "word" | "insertion" }): Editing {
  const history = createEditHistory()
  let draft = EMPTY_DRAFT
  let cutText = ""
  let lastWasCut = false
  const change = (next: Draft, group: string | undefined): void => {
    lastWasCut = false
    if (next.text !== draft.text) history.record(draft, group)
    draft = next
  }
  const restore = (state: Draft | undefined): boolean => {
    lastWasCut = false
    if (state === undefined) return false
    draft = state
    return true
  }
  return {
    get draft() {
      return draft
    },
    type: (text) => {
      if (undoStep() === "word" && /^\S/u.test(text) && /\s$/u.test(draft.text.slice(0, draft.cursor)))
        history.endGroup()
      change(withoutLeakedReport(insertText(draft, text)), "typing")
    },
    insert: (text) => {
      change(insertText(draft, text), undefined)
    },
    move: (edit) => {
      history.endGroup()
      lastWasCut = false
      draft = edit(draft)
    },
    delete: (edit) => {
      change(edit(draft), undoStep() === "word" ? "deleting" : "typing")
    },
    cut: (edit) => {
      const before = draft
      const continues = lastWasCut
      change(edit(draft), undefined)
      if (draft.text === before.text) return
      const isLeft = draft.cursor < before.cursor
      const start = Math.min(draft.cursor, before.cursor)
      const removed = before.text.slice(start, start + before.text.length - draft.text.length)
      const kept = continues ? cutText : ""
      cutText = isLeft ? removed + kept : kept + removed
      lastWasCut = true
    },
    yank: () => {
      change(insertText(draft, cutText), undefined)
    },
    change: (next, group) => {
      change(next, group)
    },
    endGroup: () => {
      history.endGroup()
    },
    undo: () => restore(history.undo(draft)),
    redo: () => restore(history.redo(draft)),
    reset: (next = EMPTY_DRAFT) => {
      history.clear()
      lastWasCut = false
      draft = next
    },
  }
}
