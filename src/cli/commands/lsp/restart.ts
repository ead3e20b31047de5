import { restartServers } from "../../../admin/language-servers/restart-servers.ts"
import { counted } from "../../../base/counted.ts"
import type { Invocation } from "../../command.ts"
import { valueOrCliError } from "../../command-result.ts"
import { homeContext } from "../../home-context.ts"

/** `hermes lsp restart [NAME]` */
export async function run(invocation: Invocation): Promise<number> {
  const { positionals, terminal } = invocation
  const [server] = positionals
  const failures = valueOrCliError(await restartServers(homeContext(invocation), { server }))
  terminal.line(
    failures === 0
      ? `${server ?? "No server"} ${server === undefined ? "has" : "has not"} failed; running servers belong to their session and continue.`
      : `Cleared ${counted(failures, "failure")}: the next write in that project starts the server again, also in open sessions.`,
  )
  return 0
}
