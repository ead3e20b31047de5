import { listServers } from "../../../admin/language-servers/list-servers.ts"
import type { Invocation } from "../../command.ts"
import { homeContext } from "../../home-context.ts"
import { printJson } from "../../terminal/json-output.ts"
import { oneLine } from "../../terminal/text-layout.ts"

const NAME_COLUMNS = 16
const EXTENSION_COLUMNS = 36

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
  for (const { name, files, program, installHint } of servers) {
    const extensions = files.join(" ").padEnd(EXTENSION_COLUMNS)
    const state = program === undefined ? `not installed: ${installHint}` : home.display(program.command[0])
    terminal.line(`${oneLine(name).padEnd(NAME_COLUMNS)} ${extensions} ${oneLine(state)}`)
  }
  for (const problem of problems) terminal.errLine(problem)
  return 0
}
