/** Finds what can replace the word at the cursor. */
export interface CompletionSource {
  complete(text: string, cursor: number, signal: AbortSignal): Promise<Completions>
}

export interface Completions {
  /** The part of the text that a completion replaces. */
  readonly start: number
  readonly end: number
  /** What is typed can be complete as it is, so that Enter sends it unless the user has chosen an entry. */
  readonly isOptional?: boolean
  /** The best one first. */
  readonly items: readonly Completion[]
}

export interface Completion {
  /** Replaces the part of the text. */
  readonly text: string
  /** What the menu shows; the text if absent. */
  readonly label?: string
  readonly detail?: string
}

export const NO_COMPLETIONS: Completions = { start: 0, end: 0, items: [] }

/** Asks the sources in order; the first one with completions decides. */
export function firstSource(sources: readonly CompletionSource[]): CompletionSource {
  return {
    complete: async (text, cursor, signal) => {
      for (const source of sources) {
        const found = await source.complete(text, cursor, signal)
        if (signal.aborted || found.items.length > 0) return found
      }
      return NO_COMPLETIONS
    },
  }
}
