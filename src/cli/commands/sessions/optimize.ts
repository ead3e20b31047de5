import type { Invocation } from "../../command.ts"
import { withSessions } from "../../session-store.ts"

/** `hermes sessions optimize` */
export async function run({ terminal, home }: Invocation): Promise<number> {
  return withSessions(home, {
    absent: () => {
      terminal.line("There are no sessions yet.")
      return 0
    },
    work: async (store) => {
      const before = await store.stats()
      await store.optimize()
      const after = await store.stats()
      terminal.line(`Optimized: ${before.sizeMb.toFixed(1)} MB before, ${after.sizeMb.toFixed(1)} MB now.`)
      return 0
    },
  })
}
