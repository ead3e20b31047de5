import type { IterationBudget } from "./iteration-budget.ts"

const CAUTION = 0.7
const URGENT = 0.9

/** How much of its rounds a turn has used, once it is worth knowing; `agent.budget_pressure: legacy` adds it to results. */
export function budgetLine({
  used,
  max,
  remaining,
}: Pick<IterationBudget, "used" | "max" | "remaining">): string | undefined {
  const share = used / max
  if (share < CAUTION) return undefined
  const count = `${used} of ${max} rounds are used, ${remaining} remain`
  return share < URGENT
    ? `[Budget: ${count}. Begin to bring the work to its end.]`
    : `[Budget, urgent: ${count}. Give your answer now.]`
}
