import { heldTools, listMcpServers } from "../../../admin/mcp/server-facts.ts"
import type { ServerFacts } from "../../../admin/mcp/server-facts.ts"
import { counted } from "../../../base/counted.ts"
import { maskAddressPasswords } from "../../../config/secrets.ts"
import type { Invocation } from "../../command.ts"
import { printJson } from "../../terminal/json-output.ts"
import { printTable } from "../../terminal/table.ts"
import { openHome } from "./open-home.ts"

/** `hermes mcp list` */
export async function run(invocation: Invocation): Promise<number> {
  const { terminal, flags } = invocation
  const { servers, problems } = listMcpServers(await openHome(invocation))
  if (flags.has("json")) {
    printJson(terminal, servers.map(asJson))
    return 0
  }
  if (servers.length === 0) terminal.line("There are no MCP servers. Add one with `hermes mcp add NAME`.")
  printTable(
    [{}, {}, { flexible: true }],
    servers.map((server) => [server.name, stateOf(server), maskAddressPasswords(server.target)]),
    invocation,
  )
  for (const problem of problems) terminal.errLine(problem)
  return 0
}

function asJson({ name, enabled, target, tools, prompts }: ServerFacts): Readonly<Record<string, unknown>> {
  return { name, enabled, target: maskAddressPasswords(target), tools: tools ?? null, prompts }
}

function stateOf(facts: ServerFacts): string {
  const { enabled, tools } = facts
  if (!enabled) return "disabled"
  if (tools === undefined) return "not connected yet"
  const held = heldTools(facts).length
  return `${counted(tools.length, "tool")}${held === 0 ? "" : `, ${held} quarantined`}`
}
