import { restartServers } from "../../../admin/language-servers/restart-servers.ts"
import { counted } from "../../../base/counted.ts"
import type { Invocation } from "../../command.ts"

/** `hermes lsp restart [NAME]` */
export function run({ positionals, terminal, home }: Invocation): Promise<number> {
  const [server] = positionals
  const failures = restartServers({ home }, { server })
  terminal.line(
    failures === 0
      ? `${server ?? "No server"} ${server === undefined ? "has" : "has not"} failed; running servers belong to their session and continue.`
      : `Cleared ${counted(failures, "failure")}: the next write in that project starts the server again, also in open sessions.`,
  )
  return Promise.resolve(0)
}
