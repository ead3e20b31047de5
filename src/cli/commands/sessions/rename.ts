import { assertNever } from "../../../base/assert-never.ts"
import { CliError, type Invocation } from "../../command.ts"
import { namedSession, noSession, withSessions } from "../../session-store.ts"

/** `hermes sessions rename ID TITLE…` */
export async function run({ positionals, terminal, home }: Invocation): Promise<number> {
  const [name = "", ...words] = positionals
  return withSessions(home, {
    absent: () => {
      throw noSession([name])
    },
    work: async (store) => {
      const session = await namedSession(store, [name])
      const outcome = await store.setTitle(session.id, words.join(" "))
      switch (outcome.kind) {
        case "set":
          terminal.line(
            outcome.title === null
              ? `${session.id} has no title now.`
              : `${session.id} is now called \`${outcome.title}\`.`,
          )
          return 0
        case "too-long":
          throw new CliError(`The title has ${outcome.length} characters; ${outcome.limit} are allowed.`, {
            exitCode: 1,
          })
        case "taken":
          throw new CliError(`Another session has this title: ${outcome.by}. Choose another one.`, { exitCode: 1 })
        case "no-session":
          throw noSession([name])
        default:
          return assertNever(outcome)
      }
    },
  })
}
