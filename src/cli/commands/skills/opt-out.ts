import { optOut } from "../../../admin/skills/skill-settings.ts"
import type { Invocation } from "../../command.ts"
import { homeContext } from "../../home-context.ts"
import { confirmed } from "../../terminal/confirmation.ts"

/** `hermes skills opt-out` */
export async function run(invocation: Invocation): Promise<number> {
  const { flags, terminal } = invocation
  const remove = flags.has("remove")
  const question = "Remove the bundled skills that you have not changed?"
  if (remove && !(await confirmed(question, { terminal, assumed: flags.has("yes") }))) {
    terminal.line("Nothing was changed.")
    return 1
  }
  const removed = optOut(homeContext(invocation), { remove })
  terminal.line(`Bundled skills are no longer copied.${remove ? ` Removed: ${removed.join(", ") || "none"}.` : ""}`)
  return 0
}
