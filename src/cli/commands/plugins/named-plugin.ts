import { findPlugin, listPlugins } from "../../../admin/plugins/list-plugins.ts"
import type { ListedPlugin } from "../../../admin/plugins/list-plugins.ts"
import { CliError } from "../../command.ts"
import type { Invocation } from "../../command.ts"
import { homeContext } from "../../home-context.ts"
import { VERSION } from "../../version.ts"

/** The plugin that the command line names. Throws a `CliError` (exit 1) when there is none. */
export async function namedPlugin(invocation: Invocation): Promise<ListedPlugin> {
  const [name = ""] = invocation.positionals
  const list = await listPlugins(homeContext(invocation), { version: VERSION, cwd: process.cwd() })
  const found = findPlugin(list, name)
  if (found !== undefined) return found
  throw new CliError(`There is no plugin ${name}. See \`hermes plugins list\`.`, { exitCode: 1 })
}
