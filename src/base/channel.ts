/**
 * Joins several producers into one stream: producers push, one reader iterates. The stream ends after `close`, once the reader
 * has consumed everything pushed before. A reader that stops early closes the channel, so that unread items do not pile up.
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

  /** Number of unread items. A producer of optional items checks it before it pushes. */
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
