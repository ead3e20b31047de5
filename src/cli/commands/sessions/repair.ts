import { existsSync } from "node:fs"
import { assertNever } from "../../../base/assert-never.ts"
import { systemClock } from "../../../base/clock.ts"
import { checkHealth, repairStore } from "../../../state/sqlite/repair.ts"
import { CliError, type Invocation } from "../../command.ts"

/** `hermes sessions repair` */
export function run({ flags, terminal, home }: Invocation): Promise<number> {
  const path = home.file("state.db")
  if (!existsSync(path)) {
    terminal.line("There is no session database yet, so nothing to repair.")
    return Promise.resolve(0)
  }
  return Promise.resolve(flags.has("check-only") ? check(path, { terminal }) : repair(path, { flags, terminal, home }))
}

function check(path: string, { terminal }: Pick<Invocation, "terminal">): number {
  const health = checkHealth(path)
  if (health.healthy) {
    terminal.line("The session database is healthy.")
    return 0
  }
  for (const problem of health.problems) terminal.errLine(problem)
  terminal.errLine("`hermes sessions repair` mends it and keeps a copy of the damaged file.")
  return 1
}

function repair(path: string, { flags, terminal, home }: Pick<Invocation, "flags" | "terminal" | "home">): number {
  const outcome = repairStore(path, { backup: !flags.has("no-backup"), clock: systemClock })
  switch (outcome.kind) {
    case "healthy":
      terminal.line("The session database is healthy; nothing was changed.")
      return 0
    case "repaired":
      terminal.line(`The session database was repaired.${kept(outcome.backup, home)}`)
      return 0
    case "failed":
      throw new CliError(`${outcome.message}.${kept(outcome.backup, home)}`, { exitCode: 1 })
    default:
      return assertNever(outcome)
  }
}

function kept(backup: string | undefined, home: Invocation["home"]): string {
  return backup === undefined ? "" : ` The damaged file is kept as ${home.display(backup)}.`
}
