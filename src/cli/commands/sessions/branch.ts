import { systemClock } from "../../../base/clock.ts"
import { newSessionId } from "../../../state/session-id.ts"
import { StoreError } from "../../../state/store.ts"
import { CliError, type Invocation } from "../../command.ts"
import { namedSession, noSession, withSessions } from "../../session-store.ts"

/** `hermes sessions branch ID [--from MESSAGE] [--title TITLE]` */
export async function run({ flags, positionals, terminal, home }: Invocation): Promise<number> {
  return withSessions(home, {
    absent: () => {
      throw noSession(positionals)
    },
    work: async (store) => {
      const parent = await namedSession(store, positionals)
      const [upTo, title] = [flags.number("from"), flags.text("title")]
      const child = {
        id: newSessionId(systemClock),
        source: parent.source,
        startedAt: systemClock.now() / 1000,
        ...(parent.systemPrompt === null ? {} : { systemPrompt: parent.systemPrompt }),
      }
      const options = { ...(title === undefined ? {} : { title }), ...(upTo === undefined ? {} : { upTo }) }
      try {
        const given = await store.branch(parent.id, child, options)
        terminal.line(
          `${child.id} ("${given}") branches off ${parent.id}. Continue it with: hermes --resume ${child.id}`,
        )
        return 0
      } catch (error) {
        if (!(error instanceof StoreError) || error.kind !== "failed") throw error
        throw new CliError(`${error.message} \`hermes sessions show ${parent.id} --json\` shows the numbers.`, {
          exitCode: 1,
          cause: error,
        })
      }
    },
  })
}
