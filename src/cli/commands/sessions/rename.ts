import { renameSession } from "../../../admin/sessions/change-session.ts"
import { assertNever } from "../../../base/assert-never.ts"
import { CliError, type Invocation } from "../../command.ts"
import { homeContext } from "../../home-context.ts"
import { noSession } from "./no-session.ts"

/** `hermes sessions rename ID TITLE…` */
export async function run(invocation: Invocation): Promise<number> {
  const { positionals, terminal } = invocation
  const [name = "", ...words] = positionals
  const outcome = await renameSession(homeContext(invocation), name, words.join(" "))
  switch (outcome.kind) {
    case "renamed": {
      const { id, title } = outcome
      terminal.line(title === null ? `${id} has no title now.` : `${id} is now called \`${title}\`.`)
      return 0
    }
    case "too-long":
      throw new CliError(`The title has ${outcome.length} characters; ${outcome.limit} are allowed.`, { exitCode: 1 })
    case "taken":
      throw new CliError(`Another session has this title or id: ${outcome.by}. Choose another title.`, { exitCode: 1 })
    case "no-session":
      throw noSession(name)
    default:
      return assertNever(outcome)
  }
}
