import { selectTools } from "../../../admin/mcp/change-servers.ts"
import { testServer } from "../../../admin/mcp/test-server.ts"
import { counted } from "../../../base/counted.ts"
import { CliError, type Invocation } from "../../command.ts"
import { valueOrCliError } from "../../command-result.ts"
import { openHome, operation } from "./open-home.ts"
import { printServer } from "./print-server.ts"

/** `hermes mcp configure NAME [--include TOOL…] [--all]` */
export async function run(invocation: Invocation): Promise<number> {
  const { terminal, flags, positionals } = invocation
  const [name = ""] = positionals
  const home = await openHome(invocation)
  const given = flags.texts("include").flatMap((text) => text.split(","))
  const chosen = flags.has("all") || given.length > 0 ? given : await askForTools(invocation, name)
  const names = chosen.map((tool) => tool.trim()).filter((tool) => tool !== "")
  valueOrCliError(await selectTools(home, name, names.length === 0 ? undefined : names))
  terminal.line(
    names.length === 0 ? `${name} offers all its tools.` : `${name} offers ${counted(names.length, "tool")}.`,
  )
  return 0
}

async function askForTools(invocation: Invocation, name: string): Promise<readonly string[]> {
  const { terminal } = invocation
  const facts = valueOrCliError(await testServer(await openHome(invocation), name, operation(invocation)))
  printServer(facts, invocation)
  const answer = await terminal.ask("Tools to offer, separated by commas (empty for all): ")
  if (answer === undefined)
    throw new CliError("There is no terminal to ask; name the tools with `--include TOOL`, or use `--all`", {
      exitCode: 1,
    })
  return answer.split(",")
}
