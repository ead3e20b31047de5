import { deleteSession } from "../../../admin/sessions/change-session.ts"
import { readSession } from "../../../admin/sessions/read-sessions.ts"
import { assertNever } from "../../../base/assert-never.ts"
import { CliError, type Invocation } from "../../command.ts"
import { confirmed } from "../../terminal/confirmation.ts"
import { homeContext } from "../../home-context.ts"
import { counted } from "../../../base/counted.ts"
import { noSession } from "./no-session.ts"

/** `hermes sessions delete ID` */
export async function run(invocation: Invocation): Promise<number> {
  const { flags, positionals, terminal } = invocation
  const context = homeContext(invocation)
  const name = positionals.join(" ")
  const session = await readSession(context, name)
  if (session === undefined) throw noSession(name)
  const { id, title, messageCount } = session
  const question = `Delete ${id}${title === null ? "" : ` (${title})`} with ${counted(messageCount, "message")}?`
  if (!(await confirmed(question, { terminal, assumed: flags.has("yes") }))) {
    terminal.line("Nothing was deleted.")
    return 0
  }
  const outcome = await deleteSession(context, id, { force: flags.has("force") })
  switch (outcome.kind) {
    case "deleted":
      terminal.line(`Deleted ${id}.`)
      return 0
    case "no-session":
      throw noSession(name)
    case "open":
      throw new CliError(
        `Session ${id} is open in another process (${outcome.pid}). Close it first, or delete it anyway with --force.`,
        { exitCode: 1 },
      )
    default:
      return assertNever(outcome)
  }
}
