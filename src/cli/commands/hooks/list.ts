import { listHooks } from "../../../admin/hooks/hooks.ts"
import { asSentence } from "../../../base/sentence.ts"
import type { Invocation } from "../../command.ts"
import { homeContext } from "../../home-context.ts"
import { printTable } from "../../terminal/table.ts"

/** `hermes hooks list` */
export async function run(invocation: Invocation): Promise<number> {
  const { terminal, home } = invocation
  const { hooks, warnings } = await listHooks(homeContext(invocation), process.cwd())
  for (const warning of warnings) terminal.errLine(asSentence(warning))
  if (hooks.length === 0) terminal.line("No hooks. They are configured in `hooks` of config.yaml.")
  else
    printTable(
      [{}, {}, {}, { flexible: true }, { flexible: true }],
      hooks.map(({ hook, approved }) => [
        hook.event,
        hook.matcher ?? "",
        approved ? "approved" : "not approved",
        hook.command,
        hook.file === undefined ? "config.yaml" : home.display(hook.file),
      ]),
      invocation,
    )
  return 0
}
