import { deleteSession, renameSession } from "../../admin/sessions/change-session.ts"
import type { DeleteOutcome, RenameOutcome } from "../../admin/sessions/change-session.ts"
import { listSessions, searchSessions } from "../../admin/sessions/read-sessions.ts"
import type { SessionStoreContext } from "../../admin/sessions/session-store.ts"
import { assertNever } from "../../base/assert-never.ts"
import type { Clock } from "../../base/clock.ts"
import type { SessionId } from "../../protocol/identifiers.ts"
import type { SearchHit, SessionSummary } from "../../state/store.ts"
import { relativeTime } from "../../terminal/relative-time.ts"
import type { Choice, ChoiceList } from "../choice-list.ts"

export interface SessionListOptions {
  readonly title?: string
  /** Only sessions of this source. */
  readonly source?: string | undefined
  readonly limit?: number
  /** The session that is open here. */
  readonly current?: SessionId
}

/** The sessions of a home, newest first: choose one, rename it or delete it. Typing also searches the messages. */
export function sessionList(
  context: SessionStoreContext,
  { title = "Sessions", source, limit = DEFAULT_LIMIT, current }: SessionListOptions = {},
): ChoiceList<SessionId> {
  let loaded: readonly SessionSummary[] = []
  return {
    title,
    hint: "Enter resumes",
    emptyText: "There are no sessions yet.",
    load: async () => {
      loaded = await listSessions(context, { source, limit, all: false })
      return { choices: loaded.map((summary) => sessionChoice(summary, { current, clock: context.clock })) }
    },
    search: async (text) => {
      const hits = await searchSessions(context, text, { source, limit: MAX_HITS, withContext: false })
      return hitChoices(hits, loaded, context.clock)
    },
    actions: [
      {
        chord: "ctrl+r",
        label: "renames",
        input: ({ value }) => ({ label: "Title", text: loaded.find(({ id }) => id === value)?.title ?? "" }),
        run: async ({ value }, { input }) => renameText(await renameSession(context, value, input)),
      },
      {
        chord: "ctrl+d",
        label: "deletes",
        appliesTo: ({ value }) => value !== current,
        confirm: ({ value, label }) => `Delete “${label}” (${value}) permanently?`,
        run: async ({ value }) => deleteText(value, await deleteSession(context, value, { force: false })),
      },
    ],
  }
}

const DEFAULT_LIMIT = 500
const MAX_HITS = 30

function sessionChoice(
  summary: SessionSummary,
  { current, clock }: { readonly current: SessionId | undefined; readonly clock: Clock },
): Choice<SessionId> {
  const { id, title, preview, source, lastActivity, messageCount } = summary
  const label = title ?? (preview === "" ? "(no messages)" : preview)
  return {
    value: id,
    label,
    ...(title === null || title === preview ? {} : { description: preview }),
    details: [relativeTime(lastActivity, clock.now() / 1000), `${messageCount} msgs`, source],
    isCurrent: id === current,
    keywords: id,
  }
}

/** One choice for each session in which a message matches. */
function hitChoices(
  hits: readonly SearchHit[],
  loaded: readonly SessionSummary[],
  clock: Clock,
): readonly Choice<SessionId>[] {
  const first = new Map<SessionId, SearchHit>()
  for (const hit of hits) if (!first.has(hit.sessionId)) first.set(hit.sessionId, hit)
  return Array.from(first.values(), ({ sessionId, snippet, source, timestamp }) => {
    const known = loaded.find(({ id }) => id === sessionId)
    return {
      value: sessionId,
      label: known?.title ?? known?.preview ?? sessionId,
      description: snippet,
      details: [
        relativeTime(timestamp, clock.now() / 1000),
        known === undefined ? "" : `${known.messageCount} msgs`,
        source,
      ],
      group: "Found in messages",
    }
  })
}

function renameText(outcome: RenameOutcome): string | undefined {
  switch (outcome.kind) {
    case "renamed":
      return outcome.title === null ? "The title was removed." : `The title is now “${outcome.title}”.`
    case "too-long":
      return `Not renamed: the title has ${outcome.length} characters; ${outcome.limit} are allowed.`
    case "taken":
      return `Not renamed: another session has this title or id: ${outcome.by}.`
    case "no-session":
      return "This session no longer exists."
    default:
      return assertNever(outcome)
  }
}

function deleteText(id: SessionId, outcome: DeleteOutcome): string {
  switch (outcome.kind) {
    case "deleted":
      return `Deleted ${id}.`
    case "no-session":
      return `${id} had already been deleted.`
    case "open":
      return `Not deleted: ${id} is open in another process (${outcome.pid}).`
    default:
      return assertNever(outcome)
  }
}
