import type { Invocation } from "../../command.ts"
import { confirmed } from "../../confirmation.ts"
import { withSessions } from "../../session-store.ts"
import { counted } from "../../text-layout.ts"

const DEFAULT_AGE_DAYS = 90

/** `hermes sessions prune` */
export async function run({ flags, terminal, home }: Invocation): Promise<number> {
  const olderThanDays = flags.number("older-than") ?? DEFAULT_AGE_DAYS
  const source = flags.text("source")
  const options = { olderThanDays, ...(source !== undefined && { source }) }
  return withSessions(home, {
    absent: () => {
      terminal.line("There are no sessions to prune.")
      return 0
    },
    work: async (store) => {
      const found = await store.prune({ ...options, dryRun: true })
      if (found.length === 0) {
        terminal.line(`No ended session is older than ${counted(olderThanDays, "day")}.`)
        return 0
      }
      const question = `Delete ${counted(found.length, "ended session")} older than ${counted(olderThanDays, "day")}?`
      if (!(await confirmed(question, { terminal, assumed: flags.has("yes"), flag: "-y" }))) {
        terminal.line("Nothing was deleted.")
        return 0
      }
      const deleted = await store.prune(options)
      terminal.line(`Deleted ${counted(deleted.length, "session")}.`)
      return 0
    },
  })
}
