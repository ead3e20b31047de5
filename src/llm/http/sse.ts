/** One server-sent event: the wires read nothing else. */
export interface Frame {
  readonly event: string
  readonly data: string
}

/**
 * Incremental reader of `text/event-stream`. Bytes may be split anywhere, also inside a UTF-8 sequence or between CR and LF;
 * any split gives the same frames.
 */
export class SseReader {
  readonly #decoder = new TextDecoder("utf-8")
  #rest = ""
  #event = ""
  #data: string | undefined

  push(bytes: Uint8Array): Frame[] {
    return this.#take(this.#decoder.decode(bytes, { stream: true }))
  }

  /** What the last bytes completed; an event without its closing blank line still counts, as servers that end early send it. */
  end(): Frame[] {
    const frames = this.#take(this.#decoder.decode())
    if (this.#rest !== "") {
      this.#line(this.#rest.endsWith("\r") ? this.#rest.slice(0, -1) : this.#rest)
      this.#rest = ""
    }
    const last = this.#dispatch()
    return last === undefined ? frames : [...frames, last]
  }

  #take(text: string): Frame[] {
    const frames: Frame[] = []
    const buffer = this.#rest === "" ? text : this.#rest + text
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
    this.#rest = buffer.slice(start)
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
