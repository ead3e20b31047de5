/** Keeps the head (40 %) and the tail (60 %) of a text of any length in bounded memory and counts what it leaves out. */
export class BoundedOutput {
  readonly #headLimit: number
  readonly #tailLimit: number
  #head = ""
  #tail = ""
  #total = 0

  constructor(maxChars: number) {
    this.#headLimit = Math.max(0, Math.floor(maxChars * 0.4))
    this.#tailLimit = Math.max(1, Math.floor(maxChars) - this.#headLimit)
  }

  push(text: string): void {
    this.#total += text.length
    const room = this.#headLimit - this.#head.length
    if (room > 0) this.#head += text.slice(0, room)
    const rest = room > 0 ? text.slice(room) : text
    if (rest === "") return
    this.#tail += rest
    // Cutting only when the tail has doubled keeps the amortised cost per chunk constant.
    if (this.#tail.length > 2 * this.#tailLimit) this.#tail = this.#tail.slice(-this.#tailLimit)
  }

  /** Counts characters that the caller already left out between the head and the tail. */
  skip(chars: number): void {
    this.#total += chars
  }

  get omittedChars(): number {
    const kept = this.#head.length + Math.min(this.#tail.length, this.#tailLimit)
    return this.#total - kept
  }

  toString(): string {
    const tail = this.#tail.length > this.#tailLimit ? this.#tail.slice(-this.#tailLimit) : this.#tail
    if (this.omittedChars === 0) return this.#head + tail
    const notice = `\n\n[... ${this.omittedChars} of ${this.#total} characters left out ...]\n\n`
    // A cut may split a surrogate pair: drop the remaining half.
    return this.#head.replace(/[\uD800-\uDBFF]$/, "") + notice + tail.replace(/^[\uDC00-\uDFFF]/, "")
  }
}
