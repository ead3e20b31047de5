import { installServers, planInstall } from "../../../admin/language-servers/install-servers.ts"
import type { Invocation } from "../../command.ts"
import { valueOrCliError } from "../../command-result.ts"
import { homeContext } from "../../home-context.ts"

/** `hermes lsp install [NAME…]` */
export async function run(invocation: Invocation): Promise<number> {
  const { positionals: names, terminal, home, signal } = invocation
  const context = homeContext(invocation)
  const plan = valueOrCliError(await planInstall(context, { names, directory: process.cwd() }))
  const { packages, manual, directory } = plan
  for (const { name, how } of manual) terminal.errLine(`${name} is not an npm package. Install it with: ${how}`)
  if (packages.length === 0) {
    if (manual.length === 0) terminal.line("Every server that this project needs is installed.")
    return manual.length > 0 && names.length > 0 ? 1 : 0
  }
  terminal.line(`Installing ${packages.join(" ")} into ${home.display(directory)} …`)
  valueOrCliError(await installServers(context, { ...plan, signal }))
  terminal.line("Done.")
  return 0
}
