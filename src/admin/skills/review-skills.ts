import type { App } from "../../app/app.ts"
import { loadJudge } from "../../app/skills/load-judge.ts"
import { fail, ok, type Result } from "../../base/result.ts"
import { environmentFrom } from "../../config/environment.ts"
import { describeChange } from "../../knowledge/skills/skill-change.ts"
import { createSkillStore, stagingPath } from "../../knowledge/skills/skill-store.ts"
import { discardStagedChange, listStagedChanges, type StagedChange } from "../../knowledge/skills/staged-changes.ts"
import { unifiedDiff } from "../../tools/file/write/unified-diff.ts"

export type SkillReviewContext = Pick<App, "home" | "config" | "clock">

export interface PendingSkillChange extends StagedChange {
  /** What it does, for the user. */
  readonly summary: string
}

/** Changes of skills that wait for the user, oldest first. */
export function listPendingSkillChanges({ home }: Pick<App, "home">): readonly PendingSkillChange[] {
  return listStagedChanges(stagingPath(home)).map((staged) => ({ ...staged, summary: describeChange(staged.change) }))
}

/** What a pending change would do, as a unified diff. */
export async function pendingSkillDiff({ change }: StagedChange, context: SkillReviewContext): Promise<string> {
  const store = storeOf(context)
  const file = "filePath" in change ? change.filePath : undefined
  const current = change.action === "create" ? fail("") : await store.readText(change.name, file)
  const before = current.ok ? current.value : undefined
  const after = "content" in change ? change.content : undefined
  return unifiedDiff(`${change.name}/${file ?? "SKILL.md"}`, { before, after })
}

/** Carries out a pending change. On failure it stays pending. */
export async function approveSkillChange(staged: StagedChange, context: SkillReviewContext): Promise<Result<string>> {
  // The user has seen the text, so what the guard finds in it is not asked about again.
  const result = await storeOf(context).change(staged.change, () => Promise.resolve(true))
  if (result.kind !== "done") return fail(result.kind === "refused" ? result.error : "it could not be carried out")
  discardStagedChange(stagingPath(context.home), staged.id)
  return ok(result.message)
}

export function discardSkillChange({ home }: Pick<App, "home">, id: string): boolean {
  return discardStagedChange(stagingPath(home), id)
}

function storeOf({ home, config, clock }: SkillReviewContext) {
  return createSkillStore({ home, config, clock, environment: environmentFrom({}), loadJudge, platform: "cli" })
}
