import { assertNever } from "../../../base/assert-never.ts"
import { branchSession, type BranchFailure } from "../../../admin/sessions/change-session.ts"
import { CliError, type Invocation } from "../../command.ts"
import { homeContext } from "../../home-context.ts"
import { noSession } from "./no-session.ts"

/** `hermes sessions branch ID [--from MESSAGE] [--title TITLE]` */
export async function run(invocation: Invocation): Promise<number> {
  const { flags, positionals, terminal } = invocation
  const name = positionals.join(" ")
  const branched = await branchSession(homeContext(invocation), name, {
    title: flags.text("title"),
    upTo: flags.number("from"),
  })
  if (!branched.ok) throw branchError(name, branched.error)
  const { id, parent, title } = branched.value
  terminal.line(`${id} ("${title}") branches off ${parent}. Continue it with: hermes --resume ${id}`)
  return 0
}

function branchError(name: string, failure: BranchFailure): CliError {
  switch (failure.kind) {
    case "no-session":
      return noSession(name)
    case "no-message":
      return new CliError(`${failure.message} \`hermes sessions show ${failure.parent} --json\` shows the numbers.`, {
        exitCode: 1,
      })
    default:
      return assertNever(failure)
  }
}
