import { join } from "node:path"

import { readRegularFile } from "../../base/regular-file.ts"
import { ok, type Result } from "../../base/result.ts"
import { editConfig } from "../../config/edit-config.ts"
import { readFrontMatter } from "../../knowledge/skills/front-matter.ts"
import { skillSettings } from "../../knowledge/skills/skill-fields.ts"
import { SKILL_FILE, type Skill } from "../../knowledge/skills/skill.ts"
import { settingValue } from "../../knowledge/skills/view-skill.ts"
import { failed, type AdminFailure } from "../failure.ts"
import type { HomeContext } from "../home-context.ts"
import { loadHome } from "../loaded-home.ts"
import { listSkills } from "./skill-settings.ts"

/** An option that a skill declares below `metadata.hermes.config`; `skills.config` of the settings has its value. */
export interface SkillOption {
  readonly skill: string
  readonly key: string
  readonly value: string
  readonly description: string
}

const MAX_BYTES = 1_000_000

/** The options of one skill, or of all. */
export async function listSkillOptions(
  context: HomeContext,
  name: string | undefined,
): Promise<Result<readonly SkillOption[], AdminFailure>> {
  const listed = (await listSkills(context)).filter(({ skill }) => name === undefined || skill.name === name)
  if (name !== undefined && listed.length === 0)
    return failed(`there is no skill ${name}; hermes skills list shows them`)
  const { config } = await loadHome(context)
  const values = config.get("skills.config")
  return ok(
    listed.flatMap(({ skill }) =>
      declaredOptions(skill).map(({ key, description, default: initial }) => ({
        skill: skill.name,
        key,
        value: settingValue(key, values) ?? initial,
        description,
      })),
    ),
  )
}

/** Stores the value of an option in `skills.config`. */
export async function setSkillOption(
  context: HomeContext,
  { skill, key, value }: { readonly skill: string; readonly key: string; readonly value: string },
): Promise<Result<undefined, AdminFailure>> {
  const options = await listSkillOptions(context, skill)
  if (!options.ok) return options
  const keys = options.value.map((option) => option.key)
  if (!keys.includes(key))
    return failed(
      `the skill ${skill} has no option ${key}; ${keys.length === 0 ? "it has none" : `it has: ${keys.join(", ")}`}`,
    )
  const { config } = await loadHome(context)
  const edited = await editConfig(context, [
    { path: "skills.config", value: { ...config.get("skills.config"), [key]: value } },
  ])
  return edited.ok ? ok(undefined) : edited
}

function declaredOptions({ directory }: Skill): ReturnType<typeof skillSettings> {
  try {
    const { bytes } = readRegularFile(join(directory, SKILL_FILE), { maxBytes: MAX_BYTES })
    return skillSettings(readFrontMatter(bytes.toString("utf8")).fields)
  } catch {
    // Not readable: skills list shows the problem.
    return []
  }
}
