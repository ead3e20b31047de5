/** Sentences for the user about work between turns. A surface with a user shows them when they arrive; others never take them. */
export interface UserNotes {
  take(): string | undefined
  /** Resolves when there is one to take, or when the signal aborts. */
  waitForOne(signal: AbortSignal): Promise<void>
}

export function createUserNotes(): UserNotes & { add(text: string): void } {
  const waiting: string[] = []
  let arrived = Promise.withResolvers<void>()
  return {
    add: (text) => {
      waiting.push(text)
      arrived.resolve()
    },
    take: () => {
      const note = waiting.shift()
      if (waiting.length === 0) arrived = Promise.withResolvers()
      return note
    },
    waitForOne: async (signal) => {
      if (signal.aborted || waiting.length > 0) return
      const aborted = Promise.withResolvers<void>()
      const abort = (): void => aborted.resolve()
      signal.addEventListener("abort", abort, { once: true })
      await Promise.race([arrived.promise, aborted.promise])
      signal.removeEventListener("abort", abort)
    },
  }
}
