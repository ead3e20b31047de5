import { acceptTools, quarantinedTools } from "../../../admin/mcp/accept-tools.ts"
import type { QuarantinedTool } from "../../../admin/mcp/accept-tools.ts"
import { counted } from "../../../base/counted.ts"
import { visibleText } from "../../../base/visible-text.ts"
import { CliError, type Invocation } from "../../command.ts"
import { valueOrCliError } from "../../command-result.ts"
import { openHome } from "./open-home.ts"

/** `hermes mcp accept NAME [TOOL] [--yes]` */
export async function run(invocation: Invocation): Promise<number> {
  const { terminal, positionals, flags } = invocation
  const [name = "", tool] = positionals
  const home = await openHome(invocation)
  const waiting = valueOrCliError(quarantinedTools(home, name, tool))
  if (waiting.length === 0) {
    terminal.line(`No tool of ${name} is quarantined.`)
    return 0
  }
  for (const one of waiting) show(one, invocation)
  // What looks like an attack is accepted only by name.
  const acceptable = tool === undefined ? waiting.filter(({ blocked }) => !blocked) : waiting
  const held = waiting.length - acceptable.length
  if (held > 0)
    terminal.errLine(`${counted(held, "tool")} can only be accepted by name: \`hermes mcp accept ${name} TOOL\`.`)
  if (acceptable.length === 0) return 1
  const agreed = flags.has("yes") || (await terminal.confirm(`Accept ${counted(acceptable.length, "tool")}? [y/N] `))
  if (agreed === undefined) throw new CliError("There is no terminal to ask; accept with `--yes`", { exitCode: 1 })
  if (!agreed) return 1
  valueOrCliError(
    acceptTools(
      home,
      name,
      acceptable.map((one) => one.name),
    ),
  )
  terminal.line(`Accepted ${acceptable.map((one) => one.name).join(", ")}.`)
  return 0
}

function show({ name, reason, before, now }: QuarantinedTool, { terminal }: Invocation): void {
  terminal.line(`${name}: ${visibleText(reason).text}`)
  if (before !== "") terminal.line(`  before: ${visibleText(before).text.replaceAll("\n", "\n          ")}`)
  terminal.line(`  now:    ${visibleText(now).text.replaceAll("\n", "\n          ")}`)
}
