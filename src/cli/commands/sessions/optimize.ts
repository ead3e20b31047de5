import { optimizeSessions } from "../../../admin/sessions/maintain-sessions.ts"
import type { Invocation } from "../../command.ts"
import { homeContext } from "../../home-context.ts"

/** `hermes sessions optimize` */
export async function run(invocation: Invocation): Promise<number> {
  const { terminal } = invocation
  const sizes = await optimizeSessions(homeContext(invocation))
  terminal.line(
    sizes === undefined
      ? "There are no sessions yet."
      : `Optimized: ${sizes.beforeMb.toFixed(1)} MB before, ${sizes.afterMb.toFixed(1)} MB now.`,
  )
  return 0
}
