import { setPluginEnabled } from "../../../admin/plugins/change-plugin.ts"
import type { Invocation } from "../../command.ts"
import { valueOrCliError } from "../../command-result.ts"
import { homeContext } from "../../home-context.ts"
import { namedPlugin } from "./named-plugin.ts"

/** `hermes plugins enable` */
export async function run(invocation: Invocation): Promise<number> {
  const { terminal } = invocation
  const listed = await namedPlugin(invocation)
  valueOrCliError(await setPluginEnabled(homeContext(invocation), listed, true))
  terminal.line(`${listed.plugin.key} is enabled.`)
  const { content } = listed.plugin
  if (content.kind === "plugin" && content.manifest.kind === "exclusive")
    terminal.line(
      `Only one plugin of its kind is active. Select it with \`hermes config set memory.provider ${listed.name}\` or \`context.engine\`.`,
    )
  return 0
}
