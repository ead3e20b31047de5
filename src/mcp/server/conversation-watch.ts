import type { EventQueue } from "./event-queue.ts"

/** Reports which conversations get new messages, for the hosts that subscribed to them. */
export interface ConversationWatch {
  /** Calls back with the key of each conversation that has a new message. Returns a function that ends it. */
  watch(changed: (key: string) => void): () => void
  close(): Promise<void>
}

const WAIT_MS = 60_000

/** Reads the store only while somebody watches. */
export function createConversationWatch(events: EventQueue): ConversationWatch {
  const watchers = new Set<(key: string) => void>()
  let reading: AbortController | undefined
  let done: Promise<void> = Promise.resolve()

  const read = async (signal: AbortSignal): Promise<void> => {
    const { nextCursor } = await events.poll({ after: 0, limit: 0 })
    let after = nextCursor
    while (!signal.aborted) {
      const event = await events.wait({ after, limit: 1, timeoutMs: WAIT_MS, signal })
      if (event === undefined) continue
      after = event.cursor
      for (const changed of watchers) changed(event.session_key)
    }
  }
  const stop = (): void => {
    reading?.abort()
    reading = undefined
  }
  return {
    watch: (changed) => {
      watchers.add(changed)
      if (reading === undefined) {
        reading = new AbortController()
        // Aborting ends the wait with an error; a store that cannot be read ends the notifications, and calls still report it.
        done = read(reading.signal).catch(() => undefined)
      }
      return () => {
        watchers.delete(changed)
        if (watchers.size === 0) stop()
      }
    },
    close: async () => {
      watchers.clear()
      stop()
      await done
    },
  }
}
