import type { Access, Parallel } from "../protocol/tool.ts"

/** One call of a reply, as `planBatch` needs it. */
export interface PlannedCall {
  readonly parallel: Parallel
  readonly access: Access | "unknown"
  /** Its path subjects, absolute and normalised. */
  readonly paths: readonly string[]
  /** Whether its arguments parsed to an object. */
  readonly argumentsValid: boolean
}

export const MAX_PARALLEL_CALLS = 8

/**
 * Whether the calls of one reply may run at the same time. One call that may not makes the whole batch sequential, so that
 * effects happen in the order the model wrote them.
 */
export function planBatch(calls: readonly PlannedCall[]): "parallel" | "sequential" {
  if (calls.length < 2 || !calls.every(mayRunInParallel)) return "sequential"
  const noConflicts = calls.every((call, index) => calls.slice(index + 1).every((later) => !conflict(call, later)))
  return noConflicts ? "parallel" : "sequential"
}

/** Whether a call may start while the other one runs. */
export function mayRunTogether(call: PlannedCall, running: PlannedCall): boolean {
  return mayRunInParallel(call) && mayRunInParallel(running) && !conflict(running, call)
}

function mayRunInParallel(call: PlannedCall): boolean {
  if (!call.argumentsValid || call.parallel === "never") return false
  return call.parallel === "safe" || (call.paths.length > 0 && call.paths.every((path) => path !== ""))
}

/** A search could see a half-written file, so it conflicts with a write below its path; two `by-path` calls conflict when their paths overlap. */
function conflict(a: PlannedCall, b: PlannedCall): boolean {
  if (a.parallel === "safe" && b.parallel === "safe") return false
  if (a.parallel === "safe" && b.access === "read") return false
  if (b.parallel === "safe" && a.access === "read") return false
  return a.paths.some((path) => b.paths.some((other) => pathsOverlap(path, other)))
}

/** Whether the paths are equal or one contains the other. Compares path components: `/a/b` and `/a/bc` do not overlap. */
export function pathsOverlap(a: string, b: string): boolean {
  const left = components(a)
  const right = components(b)
  const shared = Math.min(left.length, right.length)
  return left.slice(0, shared).every((component, index) => component === right[index])
}

function components(path: string): readonly string[] {
  return path.split(/[/\\]/u).filter((component) => component !== "")
}
