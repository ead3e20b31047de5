import { approve, listHooks } from "../../../admin/hooks/hooks.ts"
import { CliError } from "../../command.ts"
import type { Invocation } from "../../command.ts"
import { homeContext } from "../../home-context.ts"

/** `hermes hooks approve` */
export async function run(invocation: Invocation): Promise<number> {
  const { terminal, positionals, flags } = invocation
  const [command] = positionals
  const context = homeContext(invocation)
  const { hooks } = await listHooks(context, process.cwd())
  const waiting = hooks.filter(({ hook, approved }) => !approved && (command === undefined || hook.command === command))
  if (waiting.length === 0) {
    if (command === undefined || hooks.some(({ hook }) => hook.command === command)) {
      terminal.line("Nothing waits for approval.")
      return 0
    }
    throw new CliError(`No hook has the command ${command}. See \`hermes hooks list\`.`, { exitCode: 1 })
  }
  for (const { hook } of waiting) {
    const origin = hook.file === undefined ? "" : ` from ${hook.file}`
    const question = `Run \`${hook.command}\`${origin} on every ${hook.event}?`
    const isWanted = command !== undefined || flags.has("yes") || (await terminal.confirm(question)) === true
    if (!isWanted) continue
    await approve(context, hook, process.cwd())
    terminal.line(`Approved: ${hook.command} (${hook.event})`)
  }
  return 0
}
