/** How many rounds with the model a turn may take. A refund buys another one. */
export class IterationBudget {
  readonly max: number
  #used = 0

  constructor(max: number) {
    this.max = max
  }

  /** False when the budget is used up. */
  consume(): boolean {
    if (this.#used >= this.max) return false
    this.#used += 1
    return true
  }

  refund(): void {
    this.#used = Math.max(0, this.#used - 1)
  }

  get used(): number {
    return this.#used
  }

  get remaining(): number {
    return this.max - this.#used
  }
}
