import { FOREIGN_PROGRAMS } from "../../../admin/mcp/foreign-servers.ts"
import { importServers } from "../../../admin/mcp/import-servers.ts"
import type { ImportedServer } from "../../../admin/mcp/import-servers.ts"
import { counted } from "../../../base/counted.ts"
import type { Invocation } from "../../command.ts"
import { valueOrCliError } from "../../command-result.ts"
import { printTable } from "../../terminal/table.ts"
import { openHome } from "./open-home.ts"

/** `hermes mcp import [--from PROGRAM] [--dry-run]` */
export async function run(invocation: Invocation): Promise<number> {
  const { terminal, flags } = invocation
  const from = flags.text("from")
  const programs = FOREIGN_PROGRAMS.filter((program) => from === undefined || program === from)
  const dryRun = flags.has("dry-run")
  const home = await openHome(invocation)
  const { servers, problems } = valueOrCliError(await importServers(home, { programs, cwd: process.cwd(), dryRun }))
  printTable(
    [{}, {}, { flexible: true }],
    servers.map((server) => [server.name, outcome(server, dryRun), home.home.display(server.file)]),
    invocation,
  )
  for (const { name, stored, missing } of servers) {
    if (stored.length > 0)
      terminal.errLine(`${name}: its secrets ${dryRun ? "go" : "went"} to .env as ${stored.join(", ")}`)
    if (missing.length > 0) terminal.errLine(`${name} needs ${missing.join(", ")}: set them in .env`)
  }
  for (const problem of problems) terminal.errLine(problem)
  const count = servers.filter(({ skipped }) => skipped === undefined).length
  terminal.line(`${dryRun ? "Would import" : "Imported"} ${counted(count, "server")}.`)
  return 0
}

function outcome({ skipped }: ImportedServer, dryRun: boolean): string {
  if (skipped !== undefined) return `skipped: ${skipped}`
  return dryRun ? "would be imported" : "imported"
}
