import { optimizeSessions } from "../../../admin/sessions/maintain-sessions.ts"
import type { Invocation } from "../../command.ts"
import { homeContext } from "../../home-context.ts"

/** `hermes sessions optimize` */
export async function run(invocation: Invocation): Promise<number> {
  const { terminal } = invocation
  const report = await optimizeSessions(homeContext(invocation))
  if (report === undefined) {
    terminal.line("There are no sessions yet.")
    return 0
  }
  const sizes = `${report.beforeMb.toFixed(1)} MB before, ${report.afterMb.toFixed(1)} MB now`
  if (report.compacted === "compacted") terminal.line(`Optimized: ${sizes}.`)
  else {
    terminal.line(
      "The search index is optimized. The file was not compacted, because another process has the session database open: " +
        "close other Hermes windows and run `hermes sessions optimize` again.",
    )
  }
  return 0
}
