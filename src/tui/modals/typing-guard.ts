/** Recognises keys that were typed for something else, because the question appeared while the user was typing. */
export interface TypingGuard {
  /** True for a key that is to be ignored. */
  ignores(now: number): boolean
}

const QUIET_MS = 300

/** Keys are ignored until 300 ms have passed since the question appeared and since the last ignored key. */
export function createTypingGuard(openedAt: number): TypingGuard {
  let lastTyped: number | undefined = openedAt
  return {
    ignores: (now) => {
      if (lastTyped === undefined) return false
      const isTyping = now - lastTyped < QUIET_MS
      lastTyped = isTyping ? now : undefined
      return isTyping
    },
  }
}

export const IGNORED_KEY_HINT = "Ignored, because you were typing. Press it again."
