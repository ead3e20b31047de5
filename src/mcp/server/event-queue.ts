import type { Clock } from "../../base/clock.ts"
import type { SessionId } from "../../protocol/identifiers.ts"
import type { SessionStore, SessionSummary } from "../../state/store.ts"
import { shownText } from "./shown-text.ts"
import type { Redact } from "./shown-text.ts"

/** A change of a conversation, as other programs see it. */
export interface ConversationEvent {
  readonly cursor: number
  readonly type: "message"
  readonly session_key: string
  readonly message_id: number
  readonly role: string
  readonly content: string
  readonly timestamp: number
}

/** The newest events. Older ones are dropped, and a reader that is too far behind learns that it has missed some. */
export interface EventQueue {
  poll(request: EventRequest): Promise<PolledEvents>
  /** Waits for the first event; undefined when the time is over. */
  wait(
    request: EventRequest & { readonly timeoutMs: number; readonly signal: AbortSignal },
  ): Promise<ConversationEvent | undefined>
}

export interface EventRequest {
  readonly after: number
  readonly sessionKey?: string | undefined
  readonly limit: number
}

export interface PolledEvents {
  readonly events: readonly ConversationEvent[]
  readonly nextCursor: number
  /** How many events between the reader's cursor and the first one are gone. */
  readonly lost: number
}

const MAX_EVENTS = 1000
const POLL_MS = 200
const SESSIONS_READ = 50

/** Reads the store when it is asked to: nothing runs while no program is interested. */
export function createEventQueue(
  openStore: () => Promise<SessionStore | undefined>,
  { clock, redact }: { readonly clock: Clock; readonly redact: Redact },
): EventQueue {
  const lastSeen = new Map<SessionId, { readonly row: number; readonly state: string }>()
  const startedAt = clock.now() / 1000
  let events: ConversationEvent[] = []
  let cursor = 0
  let newestActivity = startedAt

  const scan = async (): Promise<void> => {
    const store = await openStore()
    if (store === undefined) return
    const sessions = await store.list({ limit: SESSIONS_READ, orderBy: "last-activity", all: true })
    // Reading a conversation takes all of its messages, so the newest one is not read again while it stays as it is.
    const changed = sessions.filter(
      (session) => session.lastActivity >= newestActivity && lastSeen.get(session.id)?.state !== stateOf(session),
    )
    for (const session of changed.toReversed()) {
      const { id } = session
      const known = lastSeen.get(id)
      const rows = await store.messages(id)
      const fresh = rows.filter((row) => (known === undefined ? row.timestamp > startedAt : row.id > known.row))
      lastSeen.set(id, { row: rows.at(-1)?.id ?? known?.row ?? 0, state: stateOf(session) })
      for (const row of fresh) {
        if (row.role !== "user" && row.role !== "assistant") continue
        cursor += 1
        const content = shownText(row.text, redact)
        events.push({
          cursor,
          type: "message",
          session_key: id,
          message_id: row.id,
          role: row.role,
          content,
          timestamp: row.timestamp,
        })
      }
    }
    newestActivity = Math.max(newestActivity, ...changed.map(({ lastActivity }) => lastActivity))
    events = events.slice(-MAX_EVENTS)
  }

  // One scan at a time: two would both report a new message. What is stored before a call of `read` is seen by the scan it waits for.
  let running: Promise<void> | undefined
  let following: Promise<void> | undefined
  let scannedAt = -Infinity
  const start = (): Promise<void> => {
    following = undefined
    scannedAt = clock.now()
    running = scan().finally(() => {
      running = undefined
    })
    return running
  }
  const read = async (): Promise<void> => {
    if (following === undefined && running !== undefined) following = running.then(start, start)
    await (following ?? start())
  }

  const take = ({ after, sessionKey, limit }: EventRequest): PolledEvents => {
    const oldest = events[0]?.cursor ?? cursor + 1
    const found = events
      .filter((event) => event.cursor > after && (sessionKey === undefined || event.session_key === sessionKey))
      .slice(0, limit)
    return {
      events: found,
      nextCursor: found.at(-1)?.cursor ?? Math.max(after, cursor),
      lost: Math.max(0, oldest - 1 - after),
    }
  }

  return {
    poll: async (request) => {
      await read()
      return take(request)
    },
    wait: async (request) => {
      const deadline = clock.now() + request.timeoutMs
      await read()
      for (;;) {
        const [event] = take({ ...request, limit: 1 }).events
        if (event !== undefined || clock.now() >= deadline || request.signal.aborted) return event
        await clock.sleep(Math.min(POLL_MS, deadline - clock.now()), { signal: request.signal })
        // All that wait share the scans.
        await (clock.now() - scannedAt < POLL_MS ? running : read())
      }
    },
  }
}

function stateOf({ lastActivity, messageCount }: SessionSummary): string {
  return `${lastActivity} ${messageCount}`
}
