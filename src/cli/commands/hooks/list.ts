import { listHooks } from "../../../admin/hooks/hooks.ts"
import { asSentence } from "../../../base/sentence.ts"
import type { Invocation } from "../../command.ts"
import { homeContext } from "../../home-context.ts"
import { printJson } from "../../terminal/json-output.ts"
import { printTable } from "../../terminal/table.ts"

/** `hermes hooks list` */
export async function run(invocation: Invocation): Promise<number> {
  const { terminal, home, flags } = invocation
  const { hooks, warnings } = await listHooks(homeContext(invocation), process.cwd())
  for (const warning of warnings) terminal.errLine(asSentence(warning))
  if (flags.has("json"))
    printJson(
      terminal,
      hooks.map(({ hook, approved }) => ({
        event: hook.event,
        matcher: hook.matcher ?? null,
        command: hook.command,
        approved,
        file: hook.file ?? home.file("config.yaml"),
      })),
    )
  else if (hooks.length === 0) terminal.line("No hooks. They are configured in `hooks` of config.yaml.")
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
