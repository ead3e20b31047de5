import type { Editing } from "../editing.ts"
import { isText } from "../typed-key.ts"
import type { TypedKey } from "../typed-key.ts"
import { INITIAL_VIM, leaveInsertMode, vimKey } from "./vim-mode.ts"
import type { VimState, VimStep } from "./vim-mode.ts"

/** Applies the Vim keys to the draft of the editor. */
export interface VimControl {
  /** Undefined when the Vim keys are off. */
  readonly mode: VimState["mode"] | undefined
  readonly isNormal: boolean
  /** A key of normal mode. Returns false for one that does what it always does. */
  key(event: TypedKey): boolean
  /** Goes to insert mode, for an empty draft. */
  insert(): void
  /** Goes to normal mode, if insert mode is on. */
  leaveInsert(): void
  /** Forgets the first keys of an unfinished command. */
  dropKeys(): void
}

export interface VimControlOptions {
  readonly isOn: () => boolean
  readonly editing: Editing
  readonly vertical: (direction: "up" | "down") => void
  /** The cursor moves by other means than Up and Down. */
  readonly horizontal: () => void
}

export function createVimControl({ isOn, editing, vertical, horizontal }: VimControlOptions): VimControl {
  let vim = INITIAL_VIM
  const apply = ({ state, draft, effect }: VimStep): void => {
    vim = state
    if (draft.text === editing.draft.text) editing.move(() => draft)
    else editing.change(draft, state.mode === "insert" ? "typing" : undefined)
    for (let done = 0; done < (effect?.count ?? 0); done += 1) {
      if (effect?.kind === "undo" && !editing.undo()) break
      if (effect?.kind === "redo" && !editing.redo()) break
      if (effect?.kind === "up" || effect?.kind === "down") vertical(effect.kind)
    }
  }
  return {
    get mode() {
      return isOn() ? vim.mode : undefined
    },
    get isNormal() {
      return isOn() && vim.mode === "normal"
    },
    key: (event) => {
      if (event.chord === "escape") {
        const isPending = vim.keys.length > 0
        vim = { ...vim, keys: [] }
        return isPending
      }
      const key = event.chord === "ctrl+r" ? event.chord : event.chord === "backspace" ? "h" : event.text
      if (key === "" || (key === event.text && !isText(event))) return false
      const step = vimKey(vim, editing.draft, key)
      if (step === undefined) return isText(event)
      if (step.effect?.kind !== "up" && step.effect?.kind !== "down") horizontal()
      apply(step)
      return true
    },
    insert: () => {
      if (isOn()) vim = { ...vim, mode: "insert", keys: [] }
    },
    leaveInsert: () => {
      if (!isOn() || vim.mode !== "insert") return
      apply(leaveInsertMode(vim, editing.draft))
      editing.endGroup()
    },
    dropKeys: () => {
      vim = { ...vim, keys: [] }
    },
  }
}
