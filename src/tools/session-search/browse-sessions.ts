import { HIDDEN_SOURCES } from "../../knowledge/semantic-search/index-sessions.ts"
import type { SessionId } from "../../protocol/identifiers.ts"
import type { SessionSummary } from "../../state/store.ts"
import type { PastSessions } from "../../toolkit/ports/sessions.ts"
import type { ToolResult } from "../../toolkit/tool.ts"
import type { SearchRequest } from "./search-request.ts"
import { isoTime } from "./message-fields.ts"
import { counted } from "../../base/counted.ts"

const PAGE = 50

/** The most recently used conversations, without the current one. */
export async function browseSessions(
  store: PastSessions,
  request: SearchRequest,
  running: SessionId | undefined,
): Promise<ToolResult> {
  const own = running === undefined ? undefined : await store.lineageRoot(running)
  const end = request.offset + request.limit
  const found: SessionSummary[] = []
  for (let offset = 0; found.length < end; offset += PAGE) {
    const page = await store.list({
      ...(request.source === undefined ? { excludeSources: HIDDEN_SOURCES } : { source: request.source }),
      limit: PAGE,
      offset,
    })
    for (const session of page) {
      const isOwn = own !== undefined && (await store.lineageRoot(session.id)) === own
      if (!isOwn && isInPeriod(session, request)) found.push(session)
    }
    if (page.length < PAGE) break
  }
  const results = found.slice(request.offset, end).map(sessionFields)
  return {
    content: {
      success: true,
      mode: "browse",
      results,
      count: results.length,
      ...(results.length === 0 && { message: "There are no other sessions." }),
    },
    summary: counted(results.length, "session"),
  }
}

function isInPeriod({ lastActivity, startedAt }: SessionSummary, { after, before }: SearchRequest): boolean {
  return (after === undefined || lastActivity >= after) && (before === undefined || startedAt < before)
}

function sessionFields(session: SessionSummary): Readonly<Record<string, unknown>> {
  return {
    session_id: session.id,
    title: session.title,
    source: session.source,
    started_at: isoTime(session.startedAt),
    last_active: isoTime(session.lastActivity),
    message_count: session.messageCount,
    preview: session.preview,
  }
}
