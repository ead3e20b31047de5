/** A list from which the user chooses, for example the sessions. Surfaces with a screen show it; others list the same data as text. */
export interface ChoiceList<T> {
  readonly title: string
  /** Shown below the list. */
  readonly hint?: string
  /** A rejection is shown with its message. */
  readonly load: (signal: AbortSignal) => Promise<LoadedChoices<T>>
  /** Shown instead of an empty list. */
  readonly emptyText?: string
  /** Finds more than the loaded choices, for example by the words of messages. */
  readonly search?: (text: string, signal: AbortSignal) => Promise<readonly Choice<T>[]>
  /** Makes a choice of what the user typed, where values outside the list are possible. */
  readonly freeEntry?: (text: string) => T | undefined
  /** What the user can type, in place of the general prompt. */
  readonly typedText?: string
  /** The typed text is offered before the choices that contain it; otherwise after them. */
  readonly prefersTyped?: (text: string) => boolean
  /** What the user types is a secret. */
  readonly isSecret?: boolean
  /** Text about the highlighted choice, for example a diff. */
  readonly preview?: (choice: Choice<T>, signal: AbortSignal) => Promise<Preview>
  /** Undefined when the user leaves the list without a choice. */
  readonly onHighlight?: (choice: Choice<T> | undefined) => void
  readonly actions?: readonly ChoiceAction<T>[]
  /** Tab switches between these, for example session and global. */
  readonly modes?: readonly string[]
  /** Leaving the list returns to an earlier question of its caller. */
  readonly goesBack?: true
  /** What a choice does. Without it, the choice closes the list. */
  readonly select?: (value: T, options: SelectOptions) => Promise<Selection<T>>
}

export interface LoadedChoices<T> {
  readonly choices: readonly Choice<T>[]
  /** A sentence about the list, for example that it comes from a cache. */
  readonly note?: string
}

export interface Choice<T> {
  readonly value: T
  readonly label: string
  /** More text after the label, left out on narrow screens. */
  readonly description?: string
  /** Short facts in columns at the right, the most important first. On narrow screens the last ones are left out. */
  readonly details?: readonly string[]
  readonly group?: string
  readonly isCurrent?: boolean
  /** Found by typing, although it is not shown. */
  readonly keywords?: string
}

export interface SelectOptions {
  readonly mode: string | undefined
  readonly signal: AbortSignal
}

export type Selection<T> =
  /** The list is closed, and its caller receives the choice. */
  | { readonly kind: "done" }
  /** Another list is opened. Esc returns to this one. */
  | { readonly kind: "open"; readonly list: ChoiceList<T> }
  /** The list stays open, with a sentence for the user. */
  | { readonly kind: "stay"; readonly note: string }
  /** The list that opened this one is shown again, loaded anew; without one, as `stay`. */
  | { readonly kind: "back"; readonly note: string }

/** What the user has chosen. */
export interface Picked<T> {
  readonly value: T
  readonly mode: string | undefined
}

/** Shows a list. Undefined when the user leaves it without a choice. */
export type PickChoice = <T>(list: ChoiceList<T>) => Promise<Picked<T> | undefined>

export interface Preview {
  readonly kind: "text" | "diff" | "markdown"
  readonly text: string
}

export interface ChoiceAction<T> {
  /** For example `ctrl+d`. */
  readonly chord: string
  /** For example `deletes`, shown after the chord. */
  readonly label: string
  /** Choices for which the action makes no sense are left out. */
  readonly appliesTo?: (choice: Choice<T>) => boolean
  /** Asked before the action runs. */
  readonly confirm?: (choice: Choice<T>) => string
  /** The action needs a text from the user, for example a new title. */
  readonly input?: (choice: Choice<T>) => { readonly label: string; readonly text: string }
  /** Returns a sentence for the user if there is something to say. The list is loaded again afterwards. */
  readonly run: (choice: Choice<T>, options: ActionOptions) => Promise<string | undefined>
}

export interface ActionOptions {
  /** Empty for an action without `input`. */
  readonly input: string
  readonly signal: AbortSignal
}
