/** One server-sent event; all that wires read of a stream. */
export interface Frame {
  readonly event: string
  readonly data: string
}

/**
 * Incremental reader of `text/event-stream`. Bytes may be split anywhere, even inside a UTF-8 sequence or between CR and LF;
 * the frames do not depend on the split.
 */
export class SseReader {
  readonly #decoder = new TextDecoder("utf-8")
  #pending = ""
  #event = ""
  #data: string | undefined

  push(bytes: Uint8Array): Frame[] {
    return this.#take(this.#decoder.decode(bytes, { stream: true }))
  }

  /** Returns the last frames. An event without its closing blank line counts, because some servers end without one. */
  end(): Frame[] {
    const frames = this.#take(this.#decoder.decode())
    if (this.#pending !== "") {
      this.#line(this.#pending.endsWith("\r") ? this.#pending.slice(0, -1) : this.#pending)
      this.#pending = ""
    }
    const last = this.#dispatch()
    return last === undefined ? frames : [...frames, last]
  }

  #take(text: string): Frame[] {
    const frames: Frame[] = []
    const buffer = this.#pending === "" ? text : this.#pending + text
    let start = 0
    for (;;) {
      const newline = buffer.indexOf("\n", start)
      if (newline === -1) break
      const end = newline > start && buffer.charCodeAt(newline - 1) === 13 ? newline - 1 : newline
      if (end === start) {
        const frame = this.#dispatch()
        if (frame !== undefined) frames.push(frame)
      } else {
        this.#line(buffer.slice(start, end))
      }
      start = newline + 1
    }
    this.#pending = buffer.slice(start)
    return frames
  }

  #line(line: string): void {
    if (line.startsWith("data:")) {
      const value = line.charCodeAt(5) === 32 ? line.slice(6) : line.slice(5)
      this.#data = this.#data === undefined ? value : `${this.#data}\n${value}`
    } else if (line.startsWith("event:")) {
      this.#event = line.slice(6).trimStart()
    }
  }

  #dispatch(): Frame | undefined {
    const data = this.#data
    const event = this.#event
    this.#data = undefined
    this.#event = ""
    return data === undefined ? undefined : { event, data }
  }
}
