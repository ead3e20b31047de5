import { z } from "zod"

import { StoreError } from "../../state/store.ts"
import { defineTool } from "../../toolkit/define-tool.ts"
import type { SessionsPort } from "../../toolkit/ports/sessions.ts"
import type { ToolResult } from "../../toolkit/tool.ts"
import { failure } from "../failure.ts"
import { browseSessions } from "./browse-sessions.ts"
import { searchPastSessions } from "./search-sessions.ts"
import { searchConversation } from "./search-conversation.ts"
import { readMessagesAround, readSessionMessages } from "./read-messages.ts"
import { parseSearchRequest } from "./search-request.ts"
import type { SearchRequest } from "./search-request.ts"

const whole = (fallback: number) => z.int().default(fallback).catch(fallback)

export const sessionSearch = defineTool({
  name: "session_search",
  toolset: "session_search",
  description:
    "Search and read past sessions; also what was removed from this one. No arguments: recent sessions. query: search all " +
    'sessions by a question or words (any word matches; "phrase", AND, NOT, prefix* are exact). session_id: its start and end; + query: search ' +
    "it and what it continues; + around_message_id: messages near that one, window 0: that one word for word, paged by offset (characters).",
  input: z.object({
    query: z.string().optional(),
    session_id: z.string().optional(),
    around_message_id: z.int().optional(),
    window: whole(5).describe("0-20"),
    limit: whole(3).describe("1-10"),
    offset: whole(0),
    sort: z.enum(["newest", "oldest"]).optional(),
    role_filter: z.string().optional().describe("user,assistant,tool"),
    source: z.string().optional(),
    after: z.string().optional().describe("ISO date"),
    before: z.string().optional(),
    profile: z.string().optional(),
  }),
  declarationRank: 10,
  access: "read",
  subject: ({ query, session_id }) => ({ kind: "query", query: query ?? session_id ?? "" }),
  label: { emoji: "🔍", verb: "recall" },
  preview: ({ query, session_id, around_message_id }) =>
    [query, session_id, around_message_id].filter((part) => part !== undefined && part !== "").join(" in ") ||
    "recent sessions",
  parallel: "safe",
  // Every mode limits its results, and a page of a message must arrive complete.
  maxResultChars: "unlimited",
  idempotent: true,
  housekeeping: true,
  role: "session-search",
  run: async (args, context) => {
    const port = context.ports.sessions
    if (port === undefined) return failed("past sessions are not available here")
    const request = parseSearchRequest(args)
    if (!request.ok) return failed(request.error)
    const profile = args.profile?.trim() ?? ""
    try {
      return await answer(request.value, { port, profile, redact: (text) => context.redact(text) })
    } catch (error) {
      if (error instanceof StoreError) return failed(error.message)
      throw error
    }
  },
})

interface Asked {
  readonly port: SessionsPort
  readonly profile: string
  readonly redact: (text: string) => string
}

async function answer(request: SearchRequest, { port, profile, redact }: Asked): Promise<ToolResult> {
  const store = profile === "" ? await port.store() : await port.store(profile)
  const running = profile === "" ? port.sessionId() : undefined
  if (request.session === "" && request.aroundMessageId === undefined) {
    return request.query === ""
      ? await browseSessions(store, request, running)
      : await searchPastSessions(request, { store, port, running, redact })
  }
  const session =
    request.session === ""
      ? undefined
      : ((await store.resolveId(request.session)) ?? (await store.resolveTitle(request.session)))
  if (request.session !== "" && session === undefined) {
    return failed(
      `there is no session ${request.session}; call session_search without arguments for recent ones, or with query`,
    )
  }
  if (request.aroundMessageId !== undefined)
    return await readMessagesAround({ store, redact }, { session, messageId: request.aroundMessageId }, request)
  if (session === undefined) return failed("session_id is missing")
  return request.query === ""
    ? await readSessionMessages(store, session, request)
    : await searchConversation({ session }, request, { store, port, running, redact })
}

function failed(error: string): ToolResult {
  return failure(error, { success: false })
}
