import type { Drawing, Size } from "../drawing.ts"
import type { KeyEvent } from "../screen/key-event.ts"
import type { Theme } from "../theme/theme.ts"

/** What a modal knows when it draws itself. */
export interface ModalView {
  readonly size: Size
  readonly theme: Theme
  /** Milliseconds since the epoch, for countdowns. */
  readonly now: number
}

export interface Decision<T> {
  readonly decision: T
}

/** Keys that were not for the modal: text of a message that the user was typing. They belong to the draft. */
export interface UnusedKeys {
  readonly unused: readonly KeyEvent[]
}

/** A question or list in the live area, above the status bar. It receives all keys until the user has decided. */
export interface Modal<T> {
  draw(view: ModalView): Drawing
  /** Returns the decision when the key made one. `now` is in milliseconds since the epoch. */
  key(event: KeyEvent, now: number): Decision<T> | UnusedKeys | undefined
  /** What the user has typed into the modal and not sent. It is asked for when the modal is removed. */
  unsentText?(): string
  /**
   * Set by the UI. A modal that works by itself, for example loads a list, calls it when it has changed, with the decision if that
   * work ended in one.
   */
  changed?: (decision?: Decision<T>) => void
  /** Ends what the modal does by itself. Call it when the modal is removed, decided or not. */
  close?(): void
}
