import { checkInstalled } from "../../../admin/skills/installed-skills.ts"
import type { Invocation } from "../../command.ts"
import { homeContext } from "../../home-context.ts"
import { printJson } from "../../terminal/json-output.ts"
import { printTable } from "../../terminal/table.ts"
import { oneLine } from "../../../terminal/text-layout.ts"

/** `hermes skills check` */
export async function run(invocation: Invocation): Promise<number> {
  const { flags, terminal, signal } = invocation
  const checks = await checkInstalled({ ...homeContext(invocation), signal })
  if (flags.has("json"))
    printJson(
      terminal,
      checks.map(({ skill, state, reason }) => ({ name: skill.name, state, reason })),
    )
  else if (checks.length === 0) terminal.line("No skill was installed.")
  else
    printTable(
      [{}, {}, { flexible: true }],
      checks.map(({ skill, state, reason }) => [skill.name, state, oneLine(reason)]),
      invocation,
    )
  return 0
}
