import { checkSessionDatabase, repairSessionDatabase } from "../../../admin/sessions/maintain-sessions.ts"
import { assertNever } from "../../../base/assert-never.ts"
import { CliError, type Invocation } from "../../command.ts"
import { homeContext } from "../../home-context.ts"

/** `hermes sessions repair` */
export function run(invocation: Invocation): Promise<number> {
  return Promise.resolve(invocation.flags.has("check-only") ? check(invocation) : repair(invocation))
}

const NO_DATABASE = "There is no session database yet, so nothing to repair."

function check({ terminal, home }: Invocation): number {
  const health = checkSessionDatabase({ home })
  if (health === undefined) {
    terminal.line(NO_DATABASE)
    return 0
  }
  if (health.healthy) {
    terminal.line("The session database is healthy.")
    return 0
  }
  for (const problem of health.problems) terminal.errLine(problem)
  terminal.errLine("`hermes sessions repair` repairs it and keeps a copy of the damaged file.")
  return 1
}

function repair(invocation: Invocation): number {
  const { flags, terminal, home } = invocation
  const outcome = repairSessionDatabase(homeContext(invocation), { backup: !flags.has("no-backup") })
  if (outcome === undefined) {
    terminal.line(NO_DATABASE)
    return 0
  }
  switch (outcome.kind) {
    case "healthy":
      terminal.line("The session database is healthy; nothing was changed.")
      return 0
    case "repaired":
      terminal.line(`The session database was repaired.${backupNote(outcome.backup, home)}`)
      return 0
    case "failed":
      throw new CliError(`${outcome.message}.${backupNote(outcome.backup, home)}`, { exitCode: 1 })
    default:
      return assertNever(outcome)
  }
}

function backupNote(backup: string | undefined, home: Invocation["home"]): string {
  return backup === undefined ? "" : ` The damaged file is kept as ${home.display(backup)}.`
}
