/**
 * Joins several producers into one stream: whoever works pushes, one reader iterates. The stream ends after `close`, when
 * everything pushed before was read. A reader that leaves early closes the channel, so that nothing piles up unread.
 */
export class Channel<T> implements AsyncIterable<T> {
  #queue: T[] = []
  #unread = 0
  #closed = false
  #wake: (() => void) | undefined

  push(item: T): void {
    if (this.#closed) return
    this.#queue.push(item)
    this.#unread += 1
    this.#wake?.()
  }

  close(): void {
    this.#closed = true
    this.#wake?.()
  }

  /** How far the reader is behind; a producer of things that may be left out looks here before it pushes. */
  get unread(): number {
    return this.#unread
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T, void, void> {
    try {
      for (;;) {
        const batch = this.#queue
        this.#queue = []
        for (const item of batch) {
          this.#unread -= 1
          yield item
        }
        if (batch.length > 0) continue
        if (this.#closed) return
        const { promise, resolve } = Promise.withResolvers<undefined>()
        this.#wake = () => {
          resolve(undefined)
        }
        await promise
        this.#wake = undefined
      }
    } finally {
      this.#closed = true
      this.#queue = []
      this.#unread = 0
    }
  }
}
