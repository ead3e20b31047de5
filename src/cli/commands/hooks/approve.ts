import { approve, listHooks } from "../../../admin/hooks/hooks.ts"
import { CliError } from "../../command.ts"
import type { Invocation } from "../../command.ts"
import { homeContext } from "../../home-context.ts"
import { askAboutHooks } from "../../hook-consent.ts"

/** `hermes hooks approve` */
export async function run(invocation: Invocation): Promise<number> {
  const { terminal, positionals, flags } = invocation
  const [command] = positionals
  const context = homeContext(invocation)
  const cwd = process.cwd()
  const { hooks } = await listHooks(context, cwd)
  const waiting = hooks.filter(({ hook, approved }) => !approved && (command === undefined || hook.command === command))
  if (waiting.length === 0) {
    if (command === undefined || hooks.some(({ hook }) => hook.command === command)) {
      terminal.line("Nothing waits for approval.")
      return 0
    }
    throw new CliError(`No hook has the command ${command}. See \`hermes hooks list\`.`, { exitCode: 1 })
  }
  if (command === undefined && !flags.has("yes")) {
    if (await askAboutHooks(waiting, cwd, invocation)) return 0
    throw new CliError(
      "Not all hooks were approved, because the question was not answered. Approve one with `hermes hooks approve COMMAND`, or all with `--yes`.",
      { exitCode: 1 },
    )
  }
  for (const { hook } of waiting) {
    await approve(context, hook, cwd)
    terminal.line(`Approved: ${hook.command} (${hook.event})`)
  }
  return 0
}
