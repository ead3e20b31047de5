import { searchSessions } from "../../../admin/sessions/read-sessions.ts"
import type { SearchHit } from "../../../state/store.ts"
import type { Invocation } from "../../command.ts"
import { homeContext } from "../../home-context.ts"
import { printJson } from "../../terminal/json-output.ts"
import { localDateTime } from "../../terminal/relative-time.ts"
import { bold, oneLine } from "../../terminal/text-layout.ts"

const DEFAULT_LIMIT = 20

/** `hermes sessions search QUERY` */
export async function run(invocation: Invocation): Promise<number> {
  const { flags, positionals, terminal } = invocation
  const query = positionals.join(" ")
  const roles = flags.texts("role")
  const sort = flags.text("sort")
  const hits = await searchSessions(homeContext(invocation), query, {
    source: flags.text("source"),
    ...(roles.length > 0 && { roles }),
    ...((sort === "newest" || sort === "oldest") && { sort }),
    limit: flags.number("limit") ?? DEFAULT_LIMIT,
    withContext: flags.has("json"),
  })
  if (flags.has("json")) printJson(terminal, hits.map(hitJson))
  else if (hits.length === 0) terminal.line(`Nothing was found for \`${query}\`.`)
  else {
    for (const hit of hits) {
      const role = hit.toolName === null ? hit.role : `${hit.role} ${hit.toolName}`
      terminal.line(`${hit.sessionId}  ${localDateTime(hit.timestamp)}  ${role}`)
      terminal.line(`    ${highlighted(oneLine(hit.snippet), terminal.color)}`)
    }
  }
  return 0
}

/** Replaces the `>>>` and `<<<` around each match with bold text, or removes them without color. */
function highlighted(snippet: string, color: boolean): string {
  return snippet.replaceAll(/>>>(.*?)<<</gu, (_all, match: string) => bold(match, color))
}

function hitJson(hit: SearchHit): object {
  return {
    session_id: hit.sessionId,
    message_id: hit.id,
    role: hit.role,
    tool_name: hit.toolName,
    timestamp: hit.timestamp,
    snippet: hit.snippet,
    source: hit.source,
    model: hit.model,
    session_started: hit.sessionStarted,
    context: hit.context,
  }
}
