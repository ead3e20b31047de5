import { updatePlugin } from "../../../admin/plugins/install-plugin.ts"
import type { Invocation } from "../../command.ts"
import { valueOrCliError } from "../../command-result.ts"
import { homeContext } from "../../home-context.ts"
import { namedPlugin } from "./named-plugin.ts"

/** `hermes plugins update` */
export async function run(invocation: Invocation): Promise<number> {
  const { plugin } = await namedPlugin(invocation)
  const updated = await updatePlugin(homeContext(invocation), plugin, invocation.signal)
  invocation.terminal.line(
    valueOrCliError(updated) === "updated" ? `${plugin.key} is updated.` : `${plugin.key} is up to date.`,
  )
  return 0
}
