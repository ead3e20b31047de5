import { hostname } from "node:os"

import { isAbort } from "../base/abort.ts"
import type { Clock } from "../base/clock.ts"
import { isProcessAlive } from "../base/process-alive.ts"
import { randomHex } from "../base/random-and-hash.ts"
import { fail, ok } from "../base/result.ts"
import { codePointLength, takeCodePoints } from "../base/text.ts"
import type { Conversation } from "../agent/conversation.ts"
import { shownForm } from "../agent/shown-form.ts"
import type { BilledCall, CompressionLock, Journal } from "../agent/journal.ts"
import { maskAddressPasswords } from "../config/secrets.ts"
import type { SessionId } from "../protocol/identifiers.ts"
import { contentText } from "../protocol/message.ts"
import type { Message } from "../protocol/message.ts"
import { newSessionId } from "../state/session-id.ts"
import { StoreError } from "../state/store.ts"
import type { KnownState, NewSession, SessionMark, SessionStore, StoredMessage, TotalsDelta } from "../state/store.ts"
import { readStored } from "./session-past.ts"

/** What a session keeps of itself. Without a store it keeps nothing and every call succeeds. */
export interface SessionLog extends Journal {
  title(): Promise<string | null>
  setModel(model: string): Promise<void>
  /** A better title than the first words; one that the person has given meanwhile stays. */
  retitle(title: string): Promise<void>
  /** Cuts the conversation to its first messages; those that go are no longer part of the session. */
  rewind(conversation: Conversation, keep: number): Promise<void>
  /** What other processes did to the conversation since it was read or written here; undefined for nothing. */
  catchUp(): Promise<News | undefined>
  /** What a side call cost, for the totals. */
  addCall(call: BilledCall): Promise<void>
  end(reason: string): Promise<void>
}

/** The conversation as it is stored now, perhaps in another session. */
export interface News {
  readonly id: SessionId
  readonly system: string
  readonly messages: readonly Message[]
  /** How many messages more than were known here. */
  readonly added: number
}

export interface SessionLogOptions {
  readonly store: SessionStore
  readonly session: NewSession
  /** The row of each message that is stored already, in its sent form. */
  readonly past: (KnownState & { readonly messages: ReadonlyMap<Message, number> }) | undefined
  /** A title will be made from the first exchange. */
  readonly retitles: boolean
  readonly clock: Clock
  /** The prompt of a child session: memory and project files are read again. */
  readonly rebuildPrompt: (id: SessionId) => Promise<{ readonly stored: string; readonly sent: string }>
  /** A stored prompt as it is sent. */
  readonly sentPrompt: (stored: string) => string
}

/** How long a compression waits for another process that is at it. */
const LOCK_PATIENCE_MS = 10_000
const LOCK_POLL_MS = 250

export function createSessionLog(options: SessionLogOptions): SessionLog {
  const { store, session, clock } = options
  let id: SessionId = session.id
  // The row is made with the first message, so that opening and leaving a chat leaves no trace.
  let known = options.past !== undefined
  let firstTitle: string | undefined
  /** Where the session stands as far as this process knows. */
  let state: KnownState = options.past ?? { mark: NEW_SESSION, head: 0 }
  const rows = new WeakMap<Message, number>(options.past?.messages ?? [])
  const remember = (messages: readonly Message[], ids: readonly number[]): void => {
    for (const [index, message] of messages.entries()) {
      const row = ids[index]
      if (row !== undefined) rows.set(message, row)
    }
  }

  const grown = (ids: readonly number[], since: SessionMark = state.mark): KnownState => ({
    mark: { ...since, added: since.added + ids.length },
    head: ids.at(-1) ?? state.head,
  })
  /** What is said in a session that was continued elsewhere belongs to the continuation. */
  const appendToTip = async (messages: readonly StoredMessage[], totals: TotalsDelta | undefined) => {
    for (;;) {
      try {
        return await store.append(id, messages, totals, { open: true })
      } catch (error) {
        const tip = isMoved(error) ? await store.compressionTip(id) : id
        if (tip === id) throw error
        id = tip
        state = { mark: UNREAD, head: 0 }
      }
    }
  }

  const append = async (messages: readonly Message[], call?: BilledCall): Promise<void> => {
    const stamped = messages.map((message) => stamp(message, clock))
    if (known) {
      const ids = await appendToTip(stamped, call === undefined ? undefined : totalsOf(call))
      remember(messages, ids)
      if (state.mark !== UNREAD) state = grown(ids)
      return
    }
    const ids = await store.startSession(session, stamped, shortTitle(firstWords(stamped)))
    remember(messages, ids)
    state = grown(ids, NEW_SESSION)
    known = true
    if (options.retitles) firstTitle = (await store.session(id))?.title ?? undefined
  }

  return {
    append,
    reshape: async (changes) => {
      const additions = [...changes].flatMap(([sent, former]) => {
        const messageId = rows.get(former)
        return messageId === undefined ? [] : [{ messageId, extras: { shown: shownForm(sent) } }]
      })
      if (additions.length > 0) await store.addExtras(additions)
      for (const [sent, former] of changes) {
        const row = rows.get(former)
        if (row !== undefined) rows.set(sent, row)
      }
    },
    rotate: async (messages) => {
      const child = newSessionId(clock, "terminal")
      const prompt = await options.rebuildPrompt(child)
      try {
        const ids = await store.rotate(
          id,
          { ...session, id: child, parent: id, startedAt: clock.now() / 1000, systemPrompt: prompt.stored },
          messages.map((message) => stamp(message, clock)),
          state,
        )
        remember(messages, ids)
        // What others added meanwhile follows in the child; it is read with the next message.
        state = grown(ids, NEW_SESSION)
      } catch (error) {
        if (isMoved(error)) return fail(WENT_ON)
        throw error
      }
      id = child
      firstTitle = undefined
      return ok({ id: child, system: prompt.sent })
    },
    lockCompression: async (signal) => await waitForLock({ store, id, clock, signal }),
    catchUp: async () => {
      const stored = known ? await store.mark(id) : undefined
      if (stored === undefined || isSame(stored, state.mark)) return undefined
      const tip = stored.continued ? await store.compressionTip(id) : id
      const read = await readStored(tip, store)
      if (read === undefined) return undefined
      const messages = [...read.messages.keys()]
      const added = read.mark.rewinds === state.mark.rewinds ? read.mark.added - state.mark.added : 0
      id = tip
      state = read
      firstTitle = undefined
      remember(messages, [...read.messages.values()])
      return { id: tip, system: options.sentPrompt(read.row.systemPrompt ?? ""), messages, added }
    },
    title: async () => (known ? ((await store.session(id))?.title ?? null) : null),
    retitle: async (title) => {
      if (firstTitle === undefined || (await store.session(id))?.title !== firstTitle) return
      await store.setTitle(id, await store.nextTitle(title))
    },
    setModel: async (model) => {
      if (known) await store.setModel(id, model)
    },
    rewind: async (conversation, keep) => {
      const first = conversation.history[keep]
      if (first === undefined) return
      const row = rows.get(first)
      if (row !== undefined) {
        await store.undoTo(id, row)
        state = { mark: (await store.mark(id)) ?? state.mark, head: Math.min(state.head, row - 1) }
      }
      conversation.replaceHistory(conversation.history.slice(0, keep))
    },
    addCall: async (call) => {
      // The model of a side call is not the model of the session.
      const { model: _model, ...totals } = totalsOf(call)
      if (known) await store.addTotals(id, totals)
    },
    end: async (reason) => {
      // A session that is not marked as ended resumes all the same, and what it holds is stored: nothing is lost here.
      if (known) await store.endSession(id, reason).catch(() => undefined)
    },
  }
}

const NEW_SESSION: SessionMark = { added: 0, rewinds: 0, continued: false }

/** Never the mark of a stored session: everything in it is news. */
const UNREAD: SessionMark = { added: -1, rewinds: -1, continued: false }

const WENT_ON = "this conversation was changed in another process meanwhile; your next message takes that over"

function isMoved(error: unknown): boolean {
  return error instanceof StoreError && error.kind === "moved"
}

function isSame(stored: SessionMark | undefined, known: SessionMark): boolean {
  return stored?.added === known.added && stored.rewinds === known.rewinds && stored.continued === known.continued
}

/** The log of a session whose store could not be opened. */
export function createUnsavedLog(started: { readonly id: SessionId; readonly system: string }): SessionLog {
  return {
    append: () => Promise.resolve(),
    reshape: () => Promise.resolve(),
    rotate: () => Promise.resolve(ok(started)),
    lockCompression: () => Promise.resolve({ release: () => Promise.resolve() }),
    catchUp: () => Promise.resolve(undefined),
    title: () => Promise.resolve(null),
    setModel: () => Promise.resolve(),
    retitle: () => Promise.resolve(),
    rewind: (conversation, keep) => {
      conversation.replaceHistory(conversation.history.slice(0, keep))
      return Promise.resolve()
    },
    addCall: () => Promise.resolve(),
    end: () => Promise.resolve(),
  }
}

interface LockRequest {
  readonly store: SessionStore
  readonly id: SessionId
  readonly clock: Clock
  readonly signal: AbortSignal
}

async function waitForLock({ store, id, clock, signal }: LockRequest): Promise<CompressionLock | undefined> {
  const holder = `${hostname()}:${process.pid}:${randomHex(6)}`
  const giveUpAt = clock.now() + LOCK_PATIENCE_MS
  while (!(await store.tryLockCompression(id, holder, { isGone: hasDied }))) {
    if (clock.now() >= giveUpAt) return undefined
    try {
      await clock.sleep(LOCK_POLL_MS, { signal })
    } catch (error) {
      if (isAbort(error)) return undefined
      throw error
    }
  }
  return { release: () => store.releaseCompression(id, holder) }
}

/** A process of this machine that was killed while it compressed; of others only their time limit tells. */
function hasDied(holder: string): boolean {
  const [host, pid] = holder.split(":")
  return host === hostname() && /^\d+$/.test(pid ?? "") && !isProcessAlive(Number(pid))
}

function totalsOf(call: BilledCall): TotalsDelta {
  return {
    usage: call.usage,
    apiCalls: 1,
    model: call.runtime.model,
    billingProvider: call.runtime.provider,
    billingBaseUrl: maskAddressPasswords(call.runtime.baseUrl),
    billingMode: call.runtime.billingMode,
    ...(call.cost.usd === null ? {} : { estimatedCostUsd: call.cost.usd }),
    costStatus: call.cost.status,
    costSource: call.cost.source,
    ...(call.cost.version === "" ? {} : { pricingVersion: call.cost.version }),
  }
}

function stamp(message: Message, clock: Clock): Message {
  if (message.role === "system" || message.timestamp !== undefined) return message
  return { ...message, timestamp: clock.now() / 1000 }
}

function firstWords(messages: readonly Message[]): string {
  const first = messages.find((message) => message.role === "user")
  return first === undefined ? "" : contentText(first.content)
}

const TITLE_CHARS = 60

/** The first words of what the person said, cut at a word boundary. */
export function shortTitle(text: string): string {
  const flat = text.replaceAll(/\s+/g, " ").trim()
  if (codePointLength(flat) <= TITLE_CHARS) return flat
  const cut = takeCodePoints(flat, TITLE_CHARS)
  const space = cut.lastIndexOf(" ")
  return space > TITLE_CHARS / 3 ? cut.slice(0, space) : cut
}
