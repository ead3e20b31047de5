import type { Invocation } from "../../command.ts"
import { confirmed } from "../../confirmation.ts"
import { namedSession, noSession, withSessions } from "../../session-store.ts"
import { counted } from "../../text-layout.ts"

/** `hermes sessions delete ID` */
export async function run({ flags, positionals, terminal, home }: Invocation): Promise<number> {
  return withSessions(home, {
    absent: () => {
      throw noSession(positionals)
    },
    work: async (store) => {
      const { id, title, messageCount } = await namedSession(store, positionals)
      const question = `Delete ${id}${title === null ? "" : ` (${title})`} with ${counted(messageCount, "message")}?`
      if (!(await confirmed(question, { terminal, assumed: flags.has("yes"), flag: "-y" }))) {
        terminal.line("Nothing was deleted.")
        return 0
      }
      if (!(await store.deleteSession(id))) throw noSession(positionals)
      terminal.line(`Deleted ${id}.`)
      return 0
    },
  })
}
