import { agentInstructions, executedByOthers } from "../../policy/file-floor.ts"

/** Whether other programs execute or agents follow a file, by its absolute path. */
export function isProtectedFile(path: string): boolean {
  return executedByOthers(path) !== undefined || agentInstructions(path) !== undefined
}
