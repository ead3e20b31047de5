/** Recognises keys that were typed for something else, because the question appeared while the user was typing. */
export interface TypingGuard {
  /** True for a key that is to be ignored. */
  ignores(now: number): boolean
  /** The user is typing text: what follows without a pause is ignored too. */
  typed(now: number): void
}

/** How long a question is on the screen before a key can be an answer. */
const NOTICED_MS = 300
/** People pause between words; a shorter pause does not mean that they have read the question. */
const PAUSE_MS = 1500

export function createTypingGuard(openedAt: number): TypingGuard {
  let ignoredUntil = openedAt + NOTICED_MS
  const typed = (now: number): void => {
    ignoredUntil = now + PAUSE_MS
  }
  return {
    typed,
    ignores: (now) => {
      if (now >= ignoredUntil) return false
      typed(now)
      return true
    },
  }
}

export const IGNORED_KEY_HINT = "Ignored, because you were typing. Pause for a moment, then choose."
