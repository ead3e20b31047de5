import type { Invocation } from "../../command.ts"
import { namedSession, noSession, withSessions } from "../../session-store.ts"

/** `hermes sessions archive ID` and `hermes sessions unarchive ID` */
export async function run({ path, positionals, terminal, home }: Invocation): Promise<number> {
  const archived = path.at(-1) === "archive"
  return withSessions(home, {
    absent: () => {
      throw noSession(positionals)
    },
    work: async (store) => {
      const { id } = await namedSession(store, positionals)
      await store.setArchived(id, archived)
      terminal.line(
        archived ? `Archived ${id}; \`hermes sessions unarchive ${id}\` brings it back.` : `${id} is listed again.`,
      )
      return 0
    },
  })
}
