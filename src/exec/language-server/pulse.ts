/** Tells those who wait that something has happened; what it was they look up themselves. */
export interface Pulse {
  beat(): void
  /** Resolves with the next beat. */
  next(): Promise<void>
}

export function createPulse(): Pulse {
  let waiting = Promise.withResolvers<void>()
  return {
    beat: () => {
      waiting.resolve()
      waiting = Promise.withResolvers<void>()
    },
    next: () => waiting.promise,
  }
}
