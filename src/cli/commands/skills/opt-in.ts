import { optIn } from "../../../admin/skills/skill-settings.ts"
import type { Invocation } from "../../command.ts"
import { homeContext } from "../../home-context.ts"

/** `hermes skills opt-in` */
export async function run(invocation: Invocation): Promise<number> {
  const sync = invocation.flags.has("sync")
  const added = await optIn(homeContext(invocation), { sync })
  invocation.terminal.line(
    sync ? `Copied: ${added.join(", ") || "nothing new"}.` : "Bundled skills are copied at the next start.",
  )
  return 0
}
