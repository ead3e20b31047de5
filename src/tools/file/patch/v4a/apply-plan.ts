import { assertNever } from "../../../../base/assert-never.ts"
import { explainSystemError } from "../../../../base/system-error.ts"
import type { FileSystem } from "../../../../exec/workspace.ts"
import { writeVerified } from "../../write/write-verified.ts"
import type { PlannedStep } from "./plan-patch.ts"

export interface AppliedPlan {
  readonly done: readonly PlannedStep[]
  /** The failed step, the reason and the remaining steps. */
  readonly stopped?: { readonly step: PlannedStep; readonly why: string; readonly left: readonly PlannedStep[] }
}

/** Applies the steps in order and stops at the first failure. Each file is replaced completely or not at all. */
export async function applyPlan(steps: readonly PlannedStep[], files: FileSystem): Promise<AppliedPlan> {
  for (const [index, step] of steps.entries()) {
    try {
      await applyStep(step, files)
    } catch (error) {
      const stopped = { step, why: explainSystemError(error), left: steps.slice(index + 1) }
      return { done: steps.slice(0, index), stopped }
    }
  }
  return { done: steps }
}

async function applyStep(step: PlannedStep, files: FileSystem): Promise<void> {
  switch (step.kind) {
    case "write":
      return await writeVerified(step.path, step.bytes, files)
    case "remove":
      return await files.remove(step.path)
    case "move":
      return await files.rename(step.path, step.to)
    default:
      return assertNever(step)
  }
}
