/** The end of a text of any length, in bounded memory. */
export class RollingText {
  readonly #limit: number
  #text = ""
  #dropped = false

  constructor(limit: number) {
    this.#limit = limit
  }

  push(text: string): void {
    this.#text += text
    // Cutting only now and then keeps the cost per piece constant.
    if (this.#text.length > 2 * this.#limit) this.#cut()
  }

  /** Whether the beginning is missing. */
  get isCut(): boolean {
    return this.#dropped || this.#text.length > this.#limit
  }

  toString(): string {
    if (this.#text.length > this.#limit) this.#cut()
    return this.#text
  }

  #cut(): void {
    // A cut may go through a surrogate pair; half a character is left out as well.
    this.#text = this.#text.slice(-this.#limit).replace(/^[\uDC00-\uDFFF]/, "")
    this.#dropped = true
  }
}
