import { checkSessionDatabase, repairSessionDatabase } from "../../../admin/sessions/maintain-sessions.ts"
import { assertNever } from "../../../base/assert-never.ts"
import { CliError, type Invocation } from "../../command.ts"
import { homeContext } from "../../home-context.ts"
import { printJson } from "../../terminal/json-output.ts"

/** `hermes sessions repair` */
export async function run(invocation: Invocation): Promise<number> {
  return invocation.flags.has("check-only") ? await check(invocation) : await repair(invocation)
}

const NO_DATABASE = "There is no session database yet, so nothing to repair."

async function check(invocation: Invocation): Promise<number> {
  const { flags, terminal } = invocation
  const health = await checkSessionDatabase(homeContext(invocation))
  if (flags.has("json")) {
    printJson(terminal, health ?? { state: "missing" })
    return health === undefined || health.state === "healthy" ? 0 : 1
  }
  if (health === undefined) {
    terminal.line(NO_DATABASE)
    return 0
  }
  switch (health.state) {
    case "healthy":
      terminal.line("The session database is healthy.")
      return 0
    case "unchecked":
      throw new CliError(health.reason, { exitCode: 1 })
    case "damaged":
      for (const problem of health.problems) terminal.errLine(problem)
      terminal.errLine("`hermes sessions repair` saves what can be read in a new database and keeps the damaged file.")
      return 1
    default:
      return assertNever(health)
  }
}

async function repair(invocation: Invocation): Promise<number> {
  const { flags, terminal } = invocation
  const outcome = await repairSessionDatabase(homeContext(invocation), { backup: !flags.has("no-backup") })
  if (flags.has("json")) {
    printJson(terminal, outcome ?? { kind: "missing" })
    return outcome?.kind === "failed" ? 1 : 0
  }
  if (outcome === undefined) {
    terminal.line(NO_DATABASE)
    return 0
  }
  switch (outcome.kind) {
    case "healthy":
      terminal.line("The session database is healthy; nothing was changed.")
      return 0
    case "repaired":
      terminal.line(outcome.notice)
      return 0
    case "failed":
      throw new CliError(outcome.failure.message, { exitCode: 1 })
    default:
      return assertNever(outcome)
  }
}
