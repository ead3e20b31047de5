/** How many iterations a turn may take. A refund adds one back. */
export class IterationBudget {
  readonly #own: number
  readonly #parent: IterationBudget | undefined
  #used = 0

  /** With a parent, each iteration also counts for that turn, and ends with what is left of its budget. */
  constructor(max: number, parent?: IterationBudget) {
    this.#own = max
    this.#parent = parent
  }

  /** False when the budget is used up. */
  consume(): boolean {
    if (this.#used >= this.#own || this.#parent?.consume() === false) return false
    this.#used += 1
    return true
  }

  refund(): void {
    if (this.#used === 0) return
    this.#used -= 1
    this.#parent?.refund()
  }

  get used(): number {
    return this.#used
  }

  get remaining(): number {
    const own = this.#own - this.#used
    return this.#parent === undefined ? own : Math.min(own, this.#parent.remaining)
  }

  /** With a parent it shrinks while others use that budget. */
  get max(): number {
    return this.#used + this.remaining
  }
}

const WARN_FROM = 0.7
const URGENT_FROM = 0.9

/** Tells the model how much of its budget is used, from 70 % on. `agent.budget_pressure: legacy` appends it to tool results. */
export function budgetWarning({
  used,
  max,
  remaining,
}: Pick<IterationBudget, "used" | "max" | "remaining">): string | undefined {
  const share = used / max
  if (share < WARN_FROM) return undefined
  const count = `${used} of ${max} iterations are used, ${remaining} remain`
  return share < URGENT_FROM
    ? `[Budget: ${count}. Start to finish the work.]`
    : `[Budget, urgent: ${count}. Give your answer now.]`
}
