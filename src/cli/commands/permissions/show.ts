import { activeRules, type ActiveRules } from "../../../admin/permissions/active-rules.ts"
import type { Invocation } from "../../command.ts"
import { valueOrCliError } from "../../command-result.ts"
import { homeContext } from "../../home-context.ts"
import { printJson } from "../../terminal/json-output.ts"
import { printTable } from "../../terminal/table.ts"

/** `hermes permissions` */
export async function run(invocation: Invocation): Promise<number> {
  const { flags, terminal } = invocation
  const active = valueOrCliError(await activeRules(homeContext(invocation), flags.text("cwd") ?? process.cwd()))
  if (flags.has("json")) printJson(terminal, { ...active, allowed_kinds: active.allowedKinds, allowedKinds: undefined })
  else printRules(active, invocation)
  return 0
}

function printRules({ profile, profiles, rules, allowedKinds }: ActiveRules, invocation: Invocation): void {
  const { terminal } = invocation
  terminal.line(`Permission profile: ${profile} (there are ${profiles.join(", ")})`)
  if (rules.length === 0) terminal.line("There are no rules of your own.")
  else
    printTable(
      [{}, { flexible: true }, {}],
      rules.map((rule) => [rule.decision, rule.pattern, rule.source]),
      invocation,
    )
  if (allowedKinds.length > 0) terminal.line(`Never asked about (command_allowlist): ${allowedKinds.join(", ")}`)
  terminal.line("`hermes permissions explain -- COMMAND` shows what would happen to a command.")
}
