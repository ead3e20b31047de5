import { removePlugin } from "../../../admin/plugins/change-plugin.ts"
import type { Invocation } from "../../command.ts"
import { valueOrCliError } from "../../command-result.ts"
import { homeContext } from "../../home-context.ts"
import { namedPlugin } from "./named-plugin.ts"

/** `hermes plugins remove` */
export async function run(invocation: Invocation): Promise<number> {
  const listed = await namedPlugin(invocation)
  valueOrCliError(await removePlugin(homeContext(invocation), listed))
  invocation.terminal.line(`${listed.plugin.key} is removed.`)
  return 0
}
