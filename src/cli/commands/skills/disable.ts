import { setSkillEnabled } from "../../../admin/skills/skill-settings.ts"
import type { Invocation } from "../../command.ts"
import { valueOrCliError } from "../../command-result.ts"
import { homeContext } from "../../home-context.ts"

/** `hermes skills disable` */
export async function run(invocation: Invocation): Promise<number> {
  const [name = ""] = invocation.positionals
  const isChanged = valueOrCliError(await setSkillEnabled(homeContext(invocation), name, false))
  invocation.terminal.line(isChanged ? `Disabled ${name}.` : `The skill ${name} is disabled already.`)
  return 0
}
