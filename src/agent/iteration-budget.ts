/** How many iterations a turn may take. A refund adds one back. */
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
