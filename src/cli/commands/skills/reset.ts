import { findOriginal, resetBundledSkill } from "../../../admin/skills/skill-settings.ts"
import type { Invocation } from "../../command.ts"
import { valueOrCliError } from "../../command-result.ts"
import { homeContext } from "../../home-context.ts"
import { confirmed } from "../../terminal/confirmation.ts"

/** `hermes skills reset` */
export async function run(invocation: Invocation): Promise<number> {
  const { flags, positionals, terminal } = invocation
  const [name = ""] = positionals
  valueOrCliError(await findOriginal(homeContext(invocation), name))
  if (!(await confirmed(`Replace ${name} with the original?`, { terminal, assumed: flags.has("yes") }))) {
    terminal.line("Nothing was changed.")
    return 1
  }
  valueOrCliError(await resetBundledSkill(homeContext(invocation), name))
  terminal.line(`Restored the original of ${name}.`)
  return 0
}
