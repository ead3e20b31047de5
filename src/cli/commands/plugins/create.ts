import { createPlugin } from "../../../admin/plugins/create-plugin.ts"
import type { Invocation } from "../../command.ts"
import { valueOrCliError } from "../../command-result.ts"
import { homeContext } from "../../home-context.ts"

/** `hermes plugins create` */
export function run(invocation: Invocation): Promise<number> {
  const { positionals, flags, terminal, home } = invocation
  const [name = ""] = positionals
  const directory = valueOrCliError(createPlugin(homeContext(invocation), name, flags.text("kind") ?? "standalone"))
  terminal.line(`Created ${home.display(directory)}. Enable it with \`hermes plugins enable ${name}\`.`)
  return Promise.resolve(0)
}
