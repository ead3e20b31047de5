import { isRecord } from "../../base/json.ts"
import { fail, ok } from "../../base/result.ts"
import type { Result } from "../../base/result.ts"
import type { EditContext } from "../../config/edit-config.ts"
import type { RulePattern } from "../../policy/rules/permission-rules.ts"

/** Adds an `allow` rule to `approvals.rules`, once. */
export async function saveAllowRule(context: EditContext, { text }: RulePattern): Promise<Result<undefined>> {
  const [{ rewriteConfig }, { setInDocument }] = await Promise.all([
    import("../../config/edit-config.ts"),
    import("../../config/document/yaml-edit.ts"),
  ])
  const saved = await rewriteConfig(context, ({ document, tree }) => {
    const approvals = isRecord(tree["approvals"]) ? tree["approvals"] : {}
    const rules: unknown = approvals["rules"] ?? []
    if (!Array.isArray(rules)) return fail({ kind: "failed", message: "`approvals.rules` is not a list" })
    if (rules.some((rule) => isRecord(rule) && rule["pattern"] === text && rule["decision"] === "allow"))
      return ok(undefined)
    const done = setInDocument(document, "approvals.rules", [...rules, { pattern: text, decision: "allow" }])
    return done.ok ? ok(undefined) : fail({ kind: "failed", message: done.error })
  })
  return saved.ok ? ok(undefined) : fail(saved.error.message)
}
