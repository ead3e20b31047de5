/** Keeps the last part of a text of any length in bounded memory. */
export class RollingText {
  readonly #limit: number
  #text = ""
  #dropped = false

  constructor(limit: number) {
    this.#limit = limit
  }

  push(text: string): void {
    this.#text += text
    // Truncating only at twice the limit keeps the cost of each push constant.
    if (this.#text.length > 2 * this.#limit) this.#cut()
  }

  get isTruncated(): boolean {
    return this.#dropped || this.#text.length > this.#limit
  }

  toString(): string {
    if (this.#text.length > this.#limit) this.#cut()
    return this.#text
  }

  #cut(): void {
    // The cut may split a surrogate pair; its second half is dropped.
    this.#text = this.#text.slice(-this.#limit).replace(/^[\uDC00-\uDFFF]/, "")
    this.#dropped = true
  }
}
