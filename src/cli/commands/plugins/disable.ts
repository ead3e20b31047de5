import { setPluginEnabled } from "../../../admin/plugins/change-plugin.ts"
import type { Invocation } from "../../command.ts"
import { valueOrCliError } from "../../command-result.ts"
import { homeContext } from "../../home-context.ts"
import { namedPlugin } from "./named-plugin.ts"

/** `hermes plugins disable` */
export async function run(invocation: Invocation): Promise<number> {
  const { terminal } = invocation
  const listed = await namedPlugin(invocation)
  valueOrCliError(await setPluginEnabled(homeContext(invocation), listed, false))
  terminal.line(`${listed.plugin.key} is disabled.`)
  return 0
}
