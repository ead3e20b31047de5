import { listServers } from "../../../admin/language-servers/list-servers.ts"
import type { Invocation } from "../../command.ts"
import { homeContext } from "../../home-context.ts"
import { printJson } from "../../terminal/json-output.ts"
import { printTable } from "../../terminal/table.ts"

/** `hermes lsp list` */
export async function run(invocation: Invocation): Promise<number> {
  const { flags, terminal, home } = invocation
  const { servers, problems } = await listServers(homeContext(invocation), { directory: process.cwd() })
  if (flags.has("json")) {
    printJson(
      terminal,
      servers.map(({ name, files, program, installHint }) => ({
        name,
        files,
        command: program?.command ?? null,
        found_in: program?.from ?? null,
        install: installHint,
      })),
    )
    return 0
  }
  const rows = servers.map(({ name, files, program, installHint }) => [
    name,
    files.join(" "),
    program === undefined ? `not installed: ${installHint}` : home.display(program.command[0]),
  ])
  printTable([{}, { flexible: true }, { flexible: true }], rows, invocation)
  for (const problem of problems) terminal.errLine(problem)
  return 0
}
