import { hostname } from "node:os"

import { isAbort } from "../base/abort.ts"
import type { Clock } from "../base/clock.ts"
import { isProcessAlive } from "../base/process-alive.ts"
import { randomHex } from "../base/random-and-hash.ts"
import { codePointLength, takeCodePoints } from "../base/text.ts"
import type { Conversation } from "../agent/conversation.ts"
import { shownForm } from "../agent/shown-form.ts"
import type { BilledCall, CompressionLock, Journal } from "../agent/journal.ts"
import type { SessionId } from "../protocol/identifiers.ts"
import { contentText } from "../protocol/message.ts"
import type { Message } from "../protocol/message.ts"
import { newSessionId } from "../state/session-id.ts"
import type { NewSession, SessionStore, TotalsDelta } from "../state/store.ts"

/** What a session keeps of itself. Without a store it keeps nothing and every call succeeds. */
export interface SessionLog extends Journal {
  title(): Promise<string | null>
  setModel(model: string): Promise<void>
  /** A better title than the first words; one that the person has given meanwhile stays. */
  retitle(title: string): Promise<void>
  /** Cuts the conversation to its first messages; those that go are no longer part of the session. */
  rewind(conversation: Conversation, keep: number): Promise<void>
  /** What a side call cost, for the totals. */
  addCall(call: BilledCall): Promise<void>
  end(reason: string): Promise<void>
}

export interface SessionLogOptions {
  readonly store: SessionStore
  readonly session: NewSession
  /** The row of each message that is stored already, in its sent form. */
  readonly past: ReadonlyMap<Message, number> | undefined
  /** A title will be made from the first exchange. */
  readonly retitles: boolean
  readonly clock: Clock
  /** The prompt of a child session: memory and project files are read again. */
  readonly rebuildPrompt: (id: SessionId) => Promise<{ readonly stored: string; readonly sent: string }>
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
  const rows = new WeakMap<Message, number>(options.past ?? [])
  const remember = (messages: readonly Message[], ids: readonly number[]): void => {
    for (const [index, message] of messages.entries()) {
      const row = ids[index]
      if (row !== undefined) rows.set(message, row)
    }
  }

  const append = async (messages: readonly Message[], call?: BilledCall): Promise<void> => {
    const stamped = messages.map((message) => stamp(message, clock))
    if (known) {
      remember(messages, await store.append(id, stamped, call === undefined ? undefined : totalsOf(call)))
      return
    }
    remember(messages, await store.startSession(session, stamped, shortTitle(firstWords(stamped))))
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
      const ids = await store.rotate(
        id,
        { ...session, id: child, parent: id, startedAt: clock.now() / 1000, systemPrompt: prompt.stored },
        messages.map((message) => stamp(message, clock)),
      )
      id = child
      firstTitle = undefined
      remember(messages, ids)
      return { id: child, system: prompt.sent }
    },
    lockCompression: async (signal) => await waitForLock({ store, id, clock, signal }),
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
      if (row !== undefined) await store.undoTo(id, row)
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

/** The log of a session whose store could not be opened. */
export function createUnsavedLog(started: { readonly id: SessionId; readonly system: string }): SessionLog {
  return {
    append: () => Promise.resolve(),
    reshape: () => Promise.resolve(),
    rotate: () => Promise.resolve(started),
    lockCompression: () => Promise.resolve({ release: () => Promise.resolve() }),
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
    billingBaseUrl: call.runtime.baseUrl,
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
