import type { Invocation } from "../../command.ts"
import { printJson } from "../../json-output.ts"
import { oneLine } from "../../text-layout.ts"
import { howToInstall, serverReport } from "./server-report.ts"

const NAME_COLUMNS = 16
const ENDING_COLUMNS = 36

/** `hermes lsp list` */
export async function run(invocation: Invocation): Promise<number> {
  const { flags, terminal, home } = invocation
  const report = await serverReport(invocation)
  const rows = report.servers.map((server) => ({ server, program: report.locate(server) }))
  if (flags.has("json")) {
    printJson(
      terminal,
      rows.map(({ server, program }) => ({
        name: server.name,
        files: Object.keys(server.languages),
        command: program?.command ?? null,
        found_in: program?.from ?? null,
        install: howToInstall(server),
      })),
    )
    return 0
  }
  for (const { server, program } of rows) {
    const files = Object.keys(server.languages).join(" ").padEnd(ENDING_COLUMNS)
    const state = program === undefined ? `not installed: ${howToInstall(server)}` : home.display(program.command[0])
    terminal.line(`${oneLine(server.name).padEnd(NAME_COLUMNS)} ${files} ${oneLine(state)}`)
  }
  for (const problem of report.problems) terminal.errLine(problem)
  return 0
}
