import type { Access, Parallel } from "../protocol/tool.ts"

/** What the batch rule needs to know about one call of a reply. */
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
 * Whether the calls of one reply may run at the same time. One call that cannot makes the whole batch sequential, so effects
 * happen in the order the model wrote them.
 */
export function planBatch(calls: readonly PlannedCall[]): "parallel" | "sequential" {
  if (calls.length < 2 || !calls.every(mayRunBesideOthers)) return "sequential"
  const pairwiseApart = calls.every((call, index) => calls.slice(index + 1).every((later) => !conflict(call, later)))
  return pairwiseApart ? "parallel" : "sequential"
}

function mayRunBesideOthers(call: PlannedCall): boolean {
  if (!call.argumentsValid || call.parallel === "never") return false
  return call.parallel === "safe" || (call.paths.length > 0 && call.paths.every((path) => path !== ""))
}

/** A search sees a half-written file, so it conflicts with a writer below it; two readers of files conflict only by the rule. */
function conflict(a: PlannedCall, b: PlannedCall): boolean {
  if (a.parallel === "safe" && b.parallel === "safe") return false
  if (a.parallel === "safe" && b.access === "read") return false
  if (b.parallel === "safe" && a.access === "read") return false
  return a.paths.some((path) => b.paths.some((other) => pathsOverlap(path, other)))
}

/** Equal, or one above the other, by path components: `/a/b` and `/a/bc` are apart. */
export function pathsOverlap(a: string, b: string): boolean {
  const left = components(a)
  const right = components(b)
  const shared = Math.min(left.length, right.length)
  return left.slice(0, shared).every((component, index) => component === right[index])
}

function components(path: string): readonly string[] {
  return path.split(/[/\\]/u).filter((component) => component !== "")
}
