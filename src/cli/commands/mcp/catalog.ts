import { KNOWN_SERVERS } from "../../../admin/mcp/known-servers.ts"
import type { KnownServer } from "../../../admin/mcp/known-servers.ts"
import type { Invocation } from "../../command.ts"
import { printJson } from "../../terminal/json-output.ts"
import { printTable } from "../../terminal/table.ts"

/** `hermes mcp catalog` */
export function run(invocation: Invocation): Promise<number> {
  const { terminal, flags } = invocation
  if (flags.has("json")) {
    printJson(terminal, KNOWN_SERVERS.map(asJson))
    return Promise.resolve(0)
  }
  printTable(
    [{}, { flexible: true }, {}],
    KNOWN_SERVERS.map((known) => [known.name, known.summary, targetOf(known)]),
    invocation,
  )
  terminal.errLine(
    "Add one with `hermes mcp install NAME`, or under another name with `hermes mcp add NAME --preset KNOWN`.",
  )
  return Promise.resolve(0)
}

function asJson(known: KnownServer): Readonly<Record<string, unknown>> {
  return { name: known.name, summary: known.summary, target: targetOf(known), auth: known.auth ?? null }
}

function targetOf({ entry, needs }: KnownServer): string {
  return entry.url ?? [entry.command, ...(entry.args ?? []), ...(needs === undefined ? [] : [needs])].join(" ")
}
