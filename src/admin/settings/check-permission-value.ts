import { isRecord } from "../../base/json.ts"
import { ok, type Result } from "../../base/result.ts"
import { valueAt, withValueAt, type Tree } from "../../config/document/document-tree.ts"
import { coerceValue } from "../../config/document/value-coercion.ts"
import type { Config } from "../../config/load-config.ts"
import { readPlatform, readProfiles, readRules } from "../../policy/rules/read-rules.ts"
import { invalid, type AdminFailure } from "../failure.ts"

/** Refuses permission rules that the next start would refuse, before they are written. */
export function checkPermissionValue(path: string, text: string, config: Config): Result<undefined, AdminFailure> {
  const value = coerceValue(text)
  // A value that cannot be read is refused by the edit.
  if (!/^approvals(?:\.|$)/u.test(path) || !value.ok) return ok(undefined)
  const before = config.user()
  const after = changed(before, path, value.value)
  const problem = after === undefined ? undefined : ruleProblem(after)
  // Rules that are broken already are repaired step by step.
  return problem === undefined || problem === ruleProblem(before) ? ok(undefined) : invalid(problem)
}

/** Undefined for a path into a list, whose entries are checked at the start. */
function changed(tree: Tree, path: string, value: unknown): Tree | undefined {
  const segments = path.split(".")
  if (segments.some((_, index) => index > 0 && Array.isArray(valueAt(tree, segments.slice(0, index))))) return undefined
  const { approvals } = tree
  if (path !== "approvals") return withValueAt(tree, path, value)
  return { ...tree, approvals: { ...(isRecord(approvals) ? approvals : {}), ...(isRecord(value) ? value : {}) } }
}

function ruleProblem({ approvals }: Tree): string | undefined {
  if (!isRecord(approvals)) return undefined
  const { profiles, rules, platforms } = approvals
  const checked = [
    readProfiles(profiles, "approvals.profiles"),
    readRules(rules, "approvals.rules"),
    // Reads all platforms, whichever is asked for.
    readPlatform(platforms, "cli", "approvals.platforms"),
  ]
  return checked.flatMap((result) => (result.ok ? [] : [result.error]))[0]
}
