import type { RunningCommand } from "./workspace.ts"

/** Streams output to a single reader. It only feeds a live display, so a slow reader loses the oldest text. */
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

/** The output of a command that has not been started yet. */
export async function* outputOnceStarted(command: Promise<RunningCommand>): AsyncGenerator<string, void, void> {
  yield* (await command).output
}
