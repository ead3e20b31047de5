/** Recognises keys that were typed for something else, because the question appeared while the user was typing. */
export interface TypingGuard {
  /** True for a key that is to be ignored. */
  ignores(now: number): boolean
  /** The user is typing text: what follows without a pause is ignored too. */
  typed(now: number): void
  /** What is going on while keys are ignored because the user was typing; undefined at other times. */
  notice(now: number): string | undefined
}

/** How long a question is on the screen before a key can be an answer. */
const NOTICED_MS = 300
/** People pause between words; a shorter pause does not mean that they have read the question. */
const PAUSE_MS = 1500

/** `kept` tells whether what was ignored goes to the draft. */
export function createTypingGuard(openedAt: number, { kept = true } = {}): TypingGuard {
  let ignoredUntil = openedAt + NOTICED_MS
  let wasTyping = false
  const typed = (now: number): void => {
    ignoredUntil = now + PAUSE_MS
    wasTyping = true
  }
  return {
    typed,
    ignores: (now) => {
      if (now >= ignoredUntil) return false
      typed(now)
      return true
    },
    notice: (now) => {
      if (!wasTyping || now >= ignoredUntil) return undefined
      const seconds = Math.ceil((ignoredUntil - now) / 1000)
      return `${kept ? "Your typing goes to your message" : "Your typing was ignored"}. You can answer in ${seconds} s.`
    },
  }
}
