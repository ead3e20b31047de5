/** Output as it arrives, for a single reader. Only a live display reads it, so a slow reader misses the oldest text. */
export class LiveOutput implements AsyncIterable<string> {
  #pending = ""
  #ended = false
  #wake: (() => void) | undefined

  push(text: string): void {
    if (text === "") return
    this.#pending = (this.#pending + text).slice(-MAX_UNREAD_CHARS)
    this.#wake?.()
  }

  end(): void {
    this.#ended = true
    this.#wake?.()
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<string, void, void> {
    for (;;) {
      if (this.#pending !== "") {
        const text = this.#pending
        this.#pending = ""
        yield text
        continue
      }
      if (this.#ended) return
      const { promise, resolve } = Promise.withResolvers<undefined>()
      this.#wake = () => {
        resolve(undefined)
      }
      await promise
      this.#wake = undefined
    }
  }
}

const MAX_UNREAD_CHARS = 64 * 1024
