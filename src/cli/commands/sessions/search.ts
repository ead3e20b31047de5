import type { SearchHit } from "../../../state/store.ts"
import type { Invocation } from "../../command.ts"
import { printJson } from "../../json-output.ts"
import { localDateTime } from "../../relative-time.ts"
import { withSessions } from "../../session-store.ts"
import { bold, oneLine } from "../../text-layout.ts"

const DEFAULT_LIMIT = 20

/** `hermes sessions search QUERY` */
export async function run({ flags, positionals, terminal, home }: Invocation): Promise<number> {
  const query = positionals.join(" ")
  const source = flags.text("source")
  const roles = flags.texts("role")
  const sort = flags.text("sort")
  const hits = await withSessions<readonly SearchHit[]>(home, {
    absent: () => [],
    work: (store) =>
      store.search(query, {
        ...(source === undefined ? { excludeSources: ["tool"] } : { sources: [source] }),
        ...(roles.length > 0 && { roles }),
        ...((sort === "newest" || sort === "oldest") && { sort }),
        limit: flags.number("limit") ?? DEFAULT_LIMIT,
        withContext: flags.has("json"),
      }),
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

/** The marks around what was found are for programs; a person sees it stand out, or just the words. */
function highlighted(snippet: string, color: boolean): string {
  return snippet.replaceAll(/>>>(.*?)<<</gu, (_all, found: string) => bold(found, color))
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
