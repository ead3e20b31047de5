import { sessionStats } from "../../../admin/sessions/maintain-sessions.ts"
import type { Invocation } from "../../command.ts"
import { fileSize } from "../../../base/file-size.ts"
import { homeContext } from "../../home-context.ts"
import { printJson } from "../../terminal/json-output.ts"

const SEARCH_STATES = {
  full: "complete",
  "no-trigram": "whole words only",
  none: "not available",
} as const

/** `hermes sessions stats` */
export async function run(invocation: Invocation): Promise<number> {
  const { flags, terminal } = invocation
  const stats = await sessionStats(homeContext(invocation))
  if (flags.has("json")) {
    printJson(terminal, {
      sessions: stats?.sessions ?? 0,
      messages: stats?.messages ?? 0,
      by_source: Object.fromEntries((stats?.bySource ?? []).map((entry) => [entry.source, entry.sessions])),
      size_mb: stats?.sizeMb ?? 0,
      wal_bytes: stats?.walBytes ?? 0,
      schema_version: stats?.schemaVersion ?? null,
      search: stats?.search ?? null,
    })
    return 0
  }
  if (stats === undefined) {
    terminal.line("There are no sessions yet.")
    return 0
  }
  terminal.line(`Sessions  ${stats.sessions}`)
  terminal.line(`Messages  ${stats.messages}`)
  for (const entry of stats.bySource) terminal.line(`  ${entry.source.padEnd(16)} ${entry.sessions}`)
  terminal.line(`Database  ${stats.sizeMb.toFixed(1)} MB, write-ahead log ${fileSize(stats.walBytes)}`)
  terminal.line(`Schema    ${stats.schemaVersion}`)
  terminal.line(`Search    ${SEARCH_STATES[stats.search]}`)
  return 0
}
