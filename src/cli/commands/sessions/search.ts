import { searchSessions } from "../../../admin/sessions/read-sessions.ts"
import {
  searchConversations,
  type FoundConversation,
  type Match,
} from "../../../admin/sessions/search-conversations.ts"
import type { SearchHit } from "../../../state/store.ts"
import { CliError, type Invocation } from "../../command.ts"
import { homeContext } from "../../home-context.ts"
import { printJson } from "../../terminal/json-output.ts"
import { localDateTime } from "../../../terminal/relative-time.ts"
import { outputWidth } from "../../terminal/table.ts"
import { bold, cutToColumns, fitColumn, oneLine } from "../../../terminal/text-layout.ts"
import { textColumns } from "../../../terminal/text-width.ts"
import { matchExcerpt } from "./match-excerpt.ts"

const DEFAULT_LIMIT = 20

/** Matches of one conversation that are printed. `hermes sessions show ID` prints all messages. */
const MAX_MATCHES = 3
const MAX_SNIPPET_COLUMNS = 300
const SORT_ORDERS = ["newest", "oldest"] as const

/** `hermes sessions search QUERY` */
export async function run(invocation: Invocation): Promise<number> {
  const { flags, positionals, terminal } = invocation
  const query = positionals.join(" ").trim()
  if (query === "") throw new CliError("The query is empty; name words to search for.", { exitCode: 2 })
  const roles = flags.texts("role")
  const sort = SORT_ORDERS.find((order) => order === flags.text("sort"))
  const options = {
    source: flags.text("source"),
    ...(roles.length > 0 && { roles }),
    ...(sort !== undefined && { sort }),
    limit: flags.number("limit") ?? DEFAULT_LIMIT,
  }
  if (flags.has("json")) {
    const hits = await searchSessions(homeContext(invocation), query, { ...options, withContext: true })
    printJson(terminal, hits.map(hitJson))
    return 0
  }
  const conversations = await searchConversations(homeContext(invocation), query, options)
  if (conversations.length === 0) terminal.line(`Nothing was found for \`${query}\`.`)
  for (const [index, conversation] of conversations.entries()) {
    if (index > 0) terminal.line()
    for (const line of conversationLines(conversation, invocation)) terminal.styledLine(line)
  }
  return 0
}

function conversationLines({ id, title, lastMatch, matches }: FoundConversation, invocation: Invocation): string[] {
  const width = outputWidth(invocation)
  const { color } = invocation.terminal
  const facts = `  ${localDateTime(lastMatch)}  ${id}`
  const name = oneLine(title ?? "(no title)")
  const heading = width === undefined ? name : cutToColumns(name, Math.max(MIN_TITLE, width - facts.length))
  const shown = matches.slice(0, MAX_MATCHES)
  const more = matches.length - shown.length
  const roleWidth = Math.max(...shown.map((match) => textColumns(roleOf(match))))
  return [
    `${bold(heading, color)}${facts}`,
    ...shown.map((match) => {
      const left = `  ${fitColumn(roleOf(match), roleWidth)}  `
      const room = width === undefined ? MAX_SNIPPET_COLUMNS : Math.max(MIN_SNIPPET, width - textColumns(left))
      return left + matchExcerpt(oneLine(match.snippet), { columns: room, color })
    }),
    ...(more === 0 ? [] : [`  … ${more} more ${more === 1 ? "match" : "matches"}`]),
  ]
}

const MIN_TITLE = 10
const MIN_SNIPPET = 20

function roleOf({ role, toolName }: Match): string {
  return oneLine(toolName ?? role)
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
