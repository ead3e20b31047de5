import { findInstalled, uninstallSkill } from "../../../admin/skills/installed-skills.ts"
import type { Invocation } from "../../command.ts"
import { valueOrCliError } from "../../command-result.ts"
import { homeContext } from "../../home-context.ts"
import { confirmed } from "../../terminal/confirmation.ts"

/** `hermes skills uninstall` */
export async function run(invocation: Invocation): Promise<number> {
  const { flags, positionals, terminal } = invocation
  const [name = ""] = positionals
  valueOrCliError(findInstalled(homeContext(invocation), name))
  if (!(await confirmed(`Remove the skill ${name}?`, { terminal, assumed: flags.has("yes") }))) {
    terminal.line("Nothing was changed.")
    return 1
  }
  valueOrCliError(uninstallSkill(homeContext(invocation), name))
  terminal.line(`Removed ${name}.`)
  return 0
}
