import { fail, ok, type Result } from "../../base/result.ts"
import { storeSecret } from "../../config/dotenv.ts"
import { declaredCredentialFile } from "../../exec/credential-file.ts"
import type { SkillStore } from "../../knowledge/skills/skill-store.ts"
import type { ViewedSkill } from "../../knowledge/skills/view-skill.ts"
import type { FacetContext } from "../session/facet-context.ts"

export interface LoadingContext {
  readonly context: FacetContext
  /** Values of variables that the user has typed in this session. */
  readonly typed: Map<string, string>
}

/** Stores a value that the user typed for a variable of a skill. */
export async function storeTyped(
  name: string,
  value: string,
  { context, typed }: LoadingContext,
): Promise<Result<undefined>> {
  const { home, environment, redactor } = context.services
  redactor.addSecrets([value])
  const stored = await storeSecret({ home, environment, name, value })
  if (!stored.ok) return fail(stored.error.message)
  typed.set(name, value)
  return ok(undefined)
}

/** Plan mode leaves nothing behind. */
function isPlanned(context: FacetContext): boolean {
  return context.session().dispatch.permissions.profile === "plan"
}

/** Records the use and passes the declared variables on to commands. Returns notes for the model. */
export async function loaded(
  skill: ViewedSkill,
  store: SkillStore,
  { context, typed }: LoadingContext,
): Promise<readonly string[]> {
  if (!isPlanned(context)) await store.recordUse(skill.name, { kind: "viewed" })
  return [...passVariables(skill, { context, typed }), ...passFiles(skill, context)]
}

/** Lets commands read the credential files that a skill of the user declares, wherever commands run. */
function passFiles({ name, needs, readiness, source }: ViewedSkill, context: FacetContext): readonly string[] {
  const { workspace, services } = context
  const { home, log, config } = services
  const configured = config.get("terminal.credential_files")
  const unseen: string[] = []
  for (const { path } of needs.credentialFiles) {
    if (readiness.missingFiles.includes(path) || (workspace.kind !== "local" && configured.includes(path))) continue
    const checked = source === "project" ? fail("it belongs to a project") : declaredCredentialFile(path, home.path)
    if (checked.ok && workspace.provideFiles !== undefined) workspace.provideFiles([checked.value])
    else {
      unseen.push(path)
      if (!checked.ok) log.warning(`the skill ${name} declares the file ${path}, which is not passed: ${checked.error}`)
    }
  }
  return unseen.length === 0 ? [] : [`Commands do not see ${unseen.join(", ")}.`]
}

function passVariables(skill: ViewedSkill, { context, typed }: LoadingContext): readonly string[] {
  const { log, environment } = context.services
  const { variables } = skill.readiness
  if (variables.length === 0 || skill.source === "project") return []
  const values = Object.fromEntries(variables.map((name) => [name, typed.get(name) ?? environment.get(name) ?? ""]))
  const refused = context.workspace.provideVariables?.(values) ?? variables
  for (const name of refused) log.warning(`the skill ${skill.name} declares ${name}, which is not passed to commands`)
  return refused.length === 0 ? [] : [`Commands do not see ${refused.join(", ")}.`]
}
