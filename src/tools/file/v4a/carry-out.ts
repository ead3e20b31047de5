import { assertNever } from "../../../base/assert-never.ts"
import { explainSystemError } from "../../../base/system-error.ts"
import type { FileSystem } from "../../../exec/workspace.ts"
import { storeAndCheck } from "../store-file.ts"
import type { PlannedStep } from "./plan-patch.ts"

export interface CarriedOut {
  readonly done: readonly PlannedStep[]
  /** Where and why it stopped. */
  readonly stopped?: { readonly step: PlannedStep; readonly why: string; readonly left: readonly PlannedStep[] }
}

/** Makes the changes in order and stops at the first that fails. Each file is replaced whole or not at all. */
export async function carryOut(steps: readonly PlannedStep[], files: FileSystem): Promise<CarriedOut> {
  for (const [index, step] of steps.entries()) {
    try {
      await make(step, files)
    } catch (error) {
      const stopped = { step, why: explainSystemError(error), left: steps.slice(index + 1) }
      return { done: steps.slice(0, index), stopped }
    }
  }
  return { done: steps }
}

async function make(step: PlannedStep, files: FileSystem): Promise<void> {
  switch (step.kind) {
    case "write":
      return await storeAndCheck(step.path, step.bytes, files)
    case "remove":
      return await files.remove(step.path)
    case "move":
      return await files.rename(step.path, step.to)
    default:
      return assertNever(step)
  }
}
