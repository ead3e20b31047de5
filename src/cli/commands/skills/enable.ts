import { setSkillEnabled } from "../../../admin/skills/skill-settings.ts"
import type { Invocation } from "../../command.ts"
import { valueOrCliError } from "../../command-result.ts"
import { homeContext } from "../../home-context.ts"

/** `hermes skills enable` */
export async function run(invocation: Invocation): Promise<number> {
  const [name = ""] = invocation.positionals
  const isChanged = valueOrCliError(await setSkillEnabled(homeContext(invocation), name, true))
  invocation.terminal.line(isChanged ? `Enabled ${name}.` : `The skill ${name} is enabled already.`)
  return 0
}
