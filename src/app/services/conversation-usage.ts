import { isNearLimit, type RateLimits } from "../../llm/failure/rate-limit-headers.ts"
import { NO_USAGE, addUsage, type CostStatus, type Usage } from "../../protocol/usage.ts"
import type { SessionId } from "../../protocol/identifiers.ts"
import type { SessionRow, SessionStore } from "../../state/store.ts"
import type { App } from "../app.ts"
import type { Session } from "../session/session.ts"
import { conversationRows } from "./conversation-rows.ts"

/** The stored usage of a conversation, including the sessions that compressions have ended, and its sub-agents. */
export interface ConversationUsage {
  readonly calls: number
  readonly tokens: Usage
  readonly cost: ConversationCost
}

/** `usd` is the sum of the calls whose price is known; with the status "unknown" some calls are missing from it. */
export interface ConversationCost {
  readonly usd: number
  readonly status: CostStatus
}

/** Returns the row of a session. Undefined when the session is not saved, or has no messages yet. */
export async function storedSession(app: Pick<App, "store">, session: Session): Promise<SessionRow | undefined> {
  return session.facts.unsaved === undefined ? await (await app.store()).session(session.id) : undefined
}

export async function conversationUsage(app: Pick<App, "store">, session: Session): Promise<ConversationUsage> {
  const row = await storedSession(app, session)
  const store = await app.store()
  const own = row === undefined ? [] : await conversationRows(store, row)
  const rows = [...own, ...(await delegateRows(store, own))]
  return {
    calls: rows.reduce((sum, { apiCallCount }) => sum + apiCallCount, 0),
    tokens: rows.reduce<Usage>((sum, row) => addUsage(sum, row.usage), NO_USAGE),
    cost: totalCost(rows),
  }
}

/** The rows of the sub-agents of these sessions, and of those that they started. */
async function delegateRows(store: SessionStore, own: readonly SessionRow[]): Promise<readonly SessionRow[]> {
  const [first] = own
  if (first === undefined) return []
  const found = new Set<SessionId>(own.map(({ id }) => id))
  const delegates: SessionId[] = []
  // Parents come before their children.
  for (const { id, parent, kind } of await store.lineage(first.id)) {
    const isBelow = parent !== null && found.has(parent) && (kind === "delegate" || delegates.includes(parent))
    if (!isBelow || found.has(id)) continue
    found.add(id)
    delegates.push(id)
  }
  const rows = await Promise.all(delegates.map((id) => store.session(id)))
  return rows.filter((row) => row !== undefined)
}

function totalCost(rows: readonly SessionRow[]): ConversationCost {
  const statuses = new Set(rows.map(({ costStatus }) => costStatus))
  const usd = rows.reduce((sum, row) => sum + (row.actualCostUsd ?? row.estimatedCostUsd ?? 0), 0)
  if (statuses.has("unknown")) return { usd, status: "unknown" }
  if (statuses.size === 1 && statuses.has("included")) return { usd, status: "included" }
  const exact = [...statuses].every((status) => status === "actual" || status === "included")
  return { usd, status: exact ? "actual" : "estimated" }
}

/** One rate limit as the provider reported it with its last response. */
export interface RateLimitStatus {
  readonly name: string
  readonly limit: number
  readonly remaining: number
  /** Zero or less when the limit has been reset since the report; undefined when the provider did not say when. */
  readonly secondsToReset: number | undefined
  readonly nearLimit: boolean
}

export function rateLimitStatus(limits: RateLimits, now: number): readonly RateLimitStatus[] {
  return Object.entries(limits).map(([name, bucket]) => ({
    name,
    limit: bucket.limit,
    remaining: bucket.remaining,
    secondsToReset:
      bucket.resetSeconds > 0 ? Math.ceil(bucket.resetSeconds - (now - bucket.capturedAt) / 1000) : undefined,
    nearLimit: isNearLimit(bucket),
  }))
}
