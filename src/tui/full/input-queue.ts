import { WOKEN } from "../chat-ui.ts"
import type { BusyListener, TypedMessage } from "../chat-ui.ts"

/**
 * Where submitted messages go: to the read that waits for one, to the listener of a running turn, or into a queue, because the
 * conversation is not ready yet.
 */
export interface InputQueue {
  next(wake: AbortSignal): Promise<TypedMessage | undefined | typeof WOKEN>
  readonly listener: BusyListener | undefined
  /** A read waits: the conversation is idle. */
  readonly isReading: boolean
  setListener(listener: BusyListener | undefined): void
  submit(message: TypedMessage): void
  putBack(messages: readonly TypedMessage[]): void
  /** There will be no more messages. */
  end(): void
}

/** `taken` is called with a message when a read receives it. */
export function createInputQueue(taken: (message: TypedMessage) => void): InputQueue {
  const queue: TypedMessage[] = []
  let listener: BusyListener | undefined
  let waiting: ((message: TypedMessage | undefined | typeof WOKEN) => void) | undefined
  let ended = false
  const finish = (message: TypedMessage | undefined | typeof WOKEN): void => {
    const resolve = waiting
    waiting = undefined
    resolve?.(message)
  }
  const take = (message: TypedMessage): TypedMessage => {
    taken(message)
    return message
  }
  return {
    next: async (wake) => {
      const queued = queue.shift()
      if (queued !== undefined) return take(queued)
      if (ended) return undefined
      if (wake.aborted) return WOKEN
      const { promise, resolve } = Promise.withResolvers<TypedMessage | undefined | typeof WOKEN>()
      waiting = resolve
      const onWake = (): void => finish(WOKEN)
      wake.addEventListener("abort", onWake, { once: true })
      try {
        return await promise
      } finally {
        wake.removeEventListener("abort", onWake)
      }
    },
    get listener() {
      return listener
    },
    get isReading() {
      return waiting !== undefined
    },
    setListener: (next) => {
      listener = next
    },
    submit: (message) => {
      if (waiting !== undefined) finish(take(message))
      else if (listener === undefined) queue.push(message)
      else listener.line(message)
    },
    putBack: (messages) => {
      queue.unshift(...messages)
    },
    end: () => {
      ended = true
      finish(undefined)
    },
  }
}
