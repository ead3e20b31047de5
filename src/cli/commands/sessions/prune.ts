import { pruneSessions } from "../../../admin/sessions/maintain-sessions.ts"
import { counted } from "../../../base/counted.ts"
import type { Invocation } from "../../command.ts"
import { confirmed } from "../../terminal/confirmation.ts"
import { homeContext } from "../../home-context.ts"

const DEFAULT_AGE_DAYS = 90

/** `hermes sessions prune` */
export async function run(invocation: Invocation): Promise<number> {
  const { flags, terminal } = invocation
  const context = homeContext(invocation)
  const olderThanDays = flags.number("older-than") ?? DEFAULT_AGE_DAYS
  const source = flags.text("source")
  const found = await pruneSessions(context, { olderThanDays, source, dryRun: true })
  if (found === undefined) {
    terminal.line("There are no sessions to prune.")
    return 0
  }
  if (found.length === 0) {
    terminal.line(`No ended session is older than ${counted(olderThanDays, "day")}.`)
    return 0
  }
  const question = `Delete ${counted(found.length, "ended session")} older than ${counted(olderThanDays, "day")}?`
  if (!(await confirmed(question, { terminal, assumed: flags.has("yes") }))) {
    terminal.line("Nothing was deleted.")
    return 0
  }
  const deleted = (await pruneSessions(context, { olderThanDays, source, dryRun: false })) ?? []
  terminal.line(`Deleted ${counted(deleted.length, "session")}.`)
  return 0
}
