import { isRecord } from "../../base/json.ts"
import { fail, ok } from "../../base/result.ts"
import type { Result } from "../../base/result.ts"
import type { EditContext } from "../../config/edit-config.ts"
import type { RulePattern } from "../../policy/rules/permission-rules.ts"

/** Adds an `allow` rule to `approvals.rules`, once. */
export async function saveAllowRule(
  context: EditContext,
  { text, directory }: RulePattern,
): Promise<Result<undefined>> {
  const [{ rewriteConfig }, { setInDocument }] = await Promise.all([
    import("../../config/edit-config.ts"),
    import("../../config/document/yaml-edit.ts"),
  ])
  const saved = await rewriteConfig(context, ({ document, tree }) => {
    const approvals = isRecord(tree["approvals"]) ? tree["approvals"] : {}
    const rules: unknown = approvals["rules"] ?? []
    if (!Array.isArray(rules)) return fail({ kind: "failed", message: "`approvals.rules` is not a list" })
    const isSaved = (rule: unknown): boolean =>
      isRecord(rule) && rule["pattern"] === text && rule["decision"] === "allow" && rule["directory"] === directory
    if (rules.some(isSaved)) return ok(undefined)
    const added = { pattern: text, decision: "allow", ...(directory === undefined ? {} : { directory }) }
    const done = setInDocument(document, "approvals.rules", [...rules, added])
    return done.ok ? ok(undefined) : fail({ kind: "failed", message: done.error })
  })
  return saved.ok ? ok(undefined) : fail(saved.error.message)
}
