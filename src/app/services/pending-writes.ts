/** Writes that nothing waits for while a conversation runs. The app waits for them when it closes. */
export interface PendingWrites {
  /** `write` reports its own failure and never rejects. */
  add(write: Promise<void>): void
  settled(): Promise<void>
}

export function createPendingWrites(): PendingWrites {
  const pending = new Set<Promise<void>>()
  return {
    add: (write) => {
      const done = write.finally(() => pending.delete(done))
      pending.add(done)
    },
    settled: async () => {
      await Promise.allSettled(pending)
    },
  }
}
