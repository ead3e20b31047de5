import type { Draft } from "../../terminal/editor/draft.ts"

/** Earlier states of a draft, for undo and redo. */
export interface EditHistory {
  /** Records the state before an edit. Edits of the same group, one after the other, are undone together. */
  record(before: Draft, group: string | undefined): void
  /** The next edit starts a new step. */
  endGroup(): void
  /** Returns the state to go back to; undefined when there is none. */
  undo(current: Draft): Draft | undefined
  redo(current: Draft): Draft | undefined
  readonly canUndo: boolean
  clear(): void
}

const MAX_STEPS = 1000

export function createEditHistory(): EditHistory {
  let undone: Draft[] = []
  let steps: Draft[] = []
  let openGroup: string | undefined
  return {
    record: (before, group) => {
      undone = []
      const continues = group !== undefined && group === openGroup
      openGroup = group
      if (continues) return
      steps.push(before)
      if (steps.length > MAX_STEPS) steps.shift()
    },
    endGroup: () => {
      openGroup = undefined
    },
    undo: (current) => {
      openGroup = undefined
      const state = steps.pop()
      if (state !== undefined) undone.push(current)
      return state
    },
    redo: (current) => {
      openGroup = undefined
      const state = undone.pop()
      if (state !== undefined) steps.push(current)
      return state
    },
    get canUndo() {
      return steps.length > 0
    },
    clear: () => {
      steps = []
      undone = []
      openGroup = undefined
    },
  }
}
