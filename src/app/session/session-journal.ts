import { hostname } from "node:os"

import { isAbort } from "../../base/abort.ts"
import type { Clock } from "../../base/clock.ts"
import { isProcessAlive } from "../../base/process-alive.ts"
import { randomHex } from "../../base/random-and-hash.ts"
import { fail, ok } from "../../base/result.ts"
import { sentForm } from "../../agent/sent-form.ts"
import type { BilledCall, CompressionLock, Journal } from "../../agent/journal.ts"
import { maskAddressPasswords } from "../../config/secrets.ts"
import type { SessionId } from "../../protocol/identifiers.ts"
import { contentText } from "../../protocol/message.ts"
import type { Message } from "../../protocol/message.ts"
import { StoreError } from "../../state/store.ts"
import { cleanTitle } from "../../state/titles.ts"
import type {
  KnownState,
  NewSession,
  SessionRevision,
  SessionRow,
  SessionStore,
  StoredMessage,
  TitleOutcome,
  TotalsDelta,
} from "../../state/store.ts"
import type { Presence } from "./open-session-marker.ts"
import type { PartialReplyFile } from "./partial-reply-file.ts"
import { readStored } from "./resume.ts"
import type { ResumedSession } from "./resume.ts"
import { withTurnLast } from "./stored-history.ts"
import { ownPrompt, promptMark } from "./stored-prompt.ts"
import { shortTitle } from "./short-title.ts"

/** The stored session. Without a store nothing is kept and every call succeeds. */
export interface SessionJournal extends Journal {
  title(): Promise<string | null>
  setModel(model: string): Promise<void>
  /** Before the first message, the title is kept and used when the session is stored. */
  setTitle(title: string): Promise<TitleOutcome>
  /** Replaces the title taken from the first words, unless the user has set another one since. */
  retitle(title: string): Promise<void>
  /**
   * The stored state if another process changed the conversation since this one read or wrote it. The messages of the running turn
   * are last in it.
   */
  catchUp(turn: readonly Message[]): Promise<StoredState | undefined>
  /** Another process has deleted the session, so that it can be neither continued nor resumed. */
  isDeleted(): boolean
  /** Adds the cost of an auxiliary call to the totals. */
  addCall(call: BilledCall): Promise<void>
  end(reason: string): Promise<void>
}

/** The conversation as it is stored now, possibly in a child session. */
export interface StoredState {
  readonly id: SessionId
  readonly system: string
  readonly messages: readonly Message[]
  /** How many messages other processes added. */
  readonly added: number
}

export interface SessionJournalOptions {
  readonly store: SessionStore
  readonly session: NewSession
  /** The row id of each stored message, in the form in which it is sent. Absent for a new session. */
  readonly resumed: (KnownState & Pick<ResumedSession, "messages" | "system" | "cwd">) | undefined
  /** A title will be generated from the first exchange. */
  readonly generatesTitle: boolean
  /** For child sessions. */
  readonly newId: () => SessionId
  readonly clock: Clock
  readonly partialReply: PartialReplyFile
  readonly presence: Pick<Presence, "show" | "follow">
  /** Builds the prompt of a child session: memory and project files are read again. */
  readonly rebuildPrompt: (id: SessionId) => Promise<{ readonly stored: string; readonly sent: string }>
  /** Adds what is sent with a stored prompt but never stored. */
  readonly sentPrompt: (stored: string) => string
}

/** How long a compression waits for the lock of another process. */
const LOCK_TIMEOUT_MS = 10_000
const LOCK_POLL_MS = 250

export function createSessionJournal(options: SessionJournalOptions): SessionJournal {
  const { store, session, clock } = options
  /**
   * The session that rows are written to. It is the conversation's current session, except between an append that found the
   * session continued by another process and the `catchUp` that reports it.
   */
  let tip: SessionId = session.id
  // The row is created with the first message, so that a chat that was opened and closed without one leaves no trace.
  let isStored = options.resumed !== undefined
  let firstTitle: string | undefined
  /** The user named the session before its first message. */
  let chosenTitle: string | undefined
  let isDeleted = false
  /** The stored prompt is of the Python edition. It is replaced with the first message, and then stays. */
  let replacesPrompt = options.resumed !== undefined && options.resumed.system === undefined
  /** The conversation has moved to another directory. That is stored with the first message. */
  let movesTo = options.resumed === undefined || options.resumed.cwd === session.cwd ? undefined : session.cwd
  /** Auxiliary calls before the first message. */
  const earlyTotals: TotalsDelta[] = []
  /** The last state of the session that this process has seen. */
  let state: KnownState = options.resumed ?? { revision: NEW_SESSION, lastMessageId: 0 }
  const rows = new WeakMap<Message, number>(options.resumed?.messages ?? [])
  const remember = (messages: readonly Message[], ids: readonly number[]): void => {
    for (const [index, message] of messages.entries()) {
      const row = ids[index]
      if (row !== undefined) rows.set(message, row)
    }
  }

  const grown = (ids: readonly number[], since: SessionRevision = state.revision): KnownState => ({
    revision: { ...since, messageCount: since.messageCount + ids.length },
    lastMessageId: ids.at(-1) ?? state.lastMessageId,
  })
  /** Messages for a session that another process has continued go to the continuation. */
  const appendToTip = async (messages: readonly StoredMessage[], totals: TotalsDelta | undefined) => {
    for (;;) {
      try {
        return await store.append(tip, messages, totals, { open: true })
      } catch (error) {
        isDeleted = error instanceof StoreError && error.kind === "deleted"
        const continuation = isMoved(error) ? await store.compressionTip(tip) : tip
        if (continuation === tip) throw error
        tip = continuation
        state = { revision: UNREAD, lastMessageId: 0 }
      }
    }
  }

  /** The session was created for the message that is being removed. */
  const isOnlyMessage = (): boolean => options.resumed === undefined && state.revision.messageCount === 1

  const promptOf = async (row: SessionRow): Promise<string> => {
    const stored = replacesPrompt && row.id === session.id ? session.systemPrompt : ownPrompt(row)
    if (stored !== undefined) return options.sentPrompt(stored)
    const prompt = await options.rebuildPrompt(row.id)
    await store.setSystemPrompt(row.id, prompt.stored, { ...session.modelConfig, ...promptMark(prompt.stored) })
    return prompt.sent
  }

  const append = async (messages: readonly Message[], call?: BilledCall): Promise<void> => {
    const stamped = messages.map((message) => stamp(message, clock))
    // Before a call or a reply exists that another process could take for one of a killed process.
    options.presence.show()
    if (isStored) {
      if (replacesPrompt) await store.setSystemPrompt(tip, session.systemPrompt ?? "", session.modelConfig ?? {})
      replacesPrompt = false
      if (movesTo !== undefined) await store.setDirectory(tip, movesTo)
      movesTo = undefined
      const ids = await appendToTip(stamped, call === undefined ? undefined : totalsOf(call))
      remember(messages, ids)
      if (state.revision !== UNREAD) state = grown(ids)
      options.partialReply.remove()
      return
    }
    const ids = await store.startSession(session, stamped, chosenTitle ?? shortTitle(firstWords(stamped)))
    remember(messages, ids)
    state = grown(ids, NEW_SESSION)
    isStored = true
    for (const totals of earlyTotals.splice(0)) await store.addTotals(tip, totals)
    if (options.generatesTitle && chosenTitle === undefined) firstTitle = (await store.session(tip))?.title ?? undefined
  }

  return {
    append,
    keepPartial: (text) => {
      options.partialReply.write(text, { session: tip, after: state.lastMessageId })
    },
    reshape: async (changes) => {
      const additions = [...changes].flatMap(([sent, former]) => {
        const messageId = rows.get(former)
        return messageId === undefined ? [] : [{ messageId, extras: { shown: sentForm(sent) } }]
      })
      if (additions.length > 0) await store.addExtras(additions)
      for (const [sent, former] of changes) {
        const row = rows.get(former)
        if (row !== undefined) rows.set(sent, row)
      }
    },
    rotate: async (messages) => {
      const child = options.newId()
      const prompt = await options.rebuildPrompt(child)
      try {
        const ids = await store.rotate(
          tip,
          {
            ...session,
            id: child,
            parent: tip,
            startedAt: clock.now() / 1000,
            systemPrompt: prompt.stored,
            modelConfig: { ...session.modelConfig, ...promptMark(prompt.stored) },
          },
          messages.map((message) => stamp(message, clock)),
          state,
        )
        remember(messages, ids)
        // The store appended to the child what other processes added in the meantime; `catchUp` reads it before the next message.
        state = grown(ids, NEW_SESSION)
      } catch (error) {
        if (isMoved(error)) return fail(CHANGED_ELSEWHERE)
        throw error
      }
      tip = child
      options.presence.follow(child)
      replacesPrompt = false
      firstTitle = undefined
      return ok({ id: child, system: prompt.sent })
    },
    lockCompression: async (signal) => await waitForLock({ store, id: tip, clock, signal }),
    catchUp: async (turn) => {
      const stored = isStored ? await store.revision(tip) : undefined
      if (stored === undefined || isSame(stored, state.revision)) return undefined
      const current = stored.continued ? await store.compressionTip(tip) : tip
      const read = await readStored(current, store)
      if (read === undefined) return undefined
      const messages = withTurnLast(read.messages, turn)
      const added =
        read.revision.rewinds === state.revision.rewinds ? read.revision.messageCount - state.revision.messageCount : 0
      tip = current
      options.presence.follow(current)
      if (current !== session.id) replacesPrompt = false
      state = read
      firstTitle = undefined
      remember([...messages.keys()], [...messages.values()])
      return { id: tip, system: await promptOf(read.row), messages: [...messages.keys()], added }
    },
    isDeleted: () => isDeleted,
    title: async () => (isStored ? ((await store.session(tip))?.title ?? null) : (chosenTitle ?? null)),
    setTitle: async (title) => {
      if (isStored) return await store.setTitle(tip, title)
      const cleaned = cleanTitle(title)
      if (!cleaned.ok) return { kind: "too-long", ...cleaned.error }
      const owner = cleaned.value === null ? undefined : await store.titleOwner(cleaned.value)
      if (owner !== undefined) return { kind: "taken", by: owner }
      chosenTitle = cleaned.value ?? undefined
      return { kind: "set", title: cleaned.value }
    },
    retitle: async (title) => {
      if (firstTitle === undefined || (await store.session(tip))?.title !== firstTitle) return
      await store.setTitle(tip, await store.nextTitle(title))
    },
    setModel: async (model) => {
      if (isStored) await store.setModel(tip, model)
    },
    rewind: async (from, options) => {
      const row = rows.get(from)
      if (row !== undefined && options?.refused === true && isOnlyMessage()) {
        await store.deleteSession(tip)
        state = { revision: NEW_SESSION, lastMessageId: 0 }
        firstTitle = undefined
        isStored = false
      } else if (row !== undefined) {
        await store.undoTo(tip, row)
        state = {
          revision: (await store.revision(tip)) ?? state.revision,
          lastMessageId: Math.min(state.lastMessageId, row - 1),
        }
      }
    },
    addCall: async (call) => {
      // The auxiliary model is not the model of the session.
      const { model: _model, ...totals } = totalsOf(call)
      if (isStored) await store.addTotals(tip, totals)
      else earlyTotals.push(totals)
    },
    end: async (reason) => {
      if (!isStored) return
      try {
        await store.endSession(tip, reason)
        isDeleted = (await store.session(tip)) === undefined
      } catch {
        // Nothing is lost: all messages are stored, and a session without an end mark can be resumed too.
      }
    },
  }
}

const NEW_SESSION: SessionRevision = { messageCount: 0, rewinds: 0, continued: false }

/** Not the revision of any stored session, so the next `catchUp` reads everything. */
const UNREAD: SessionRevision = { messageCount: -1, rewinds: -1, continued: false }

const CHANGED_ELSEWHERE = "another process changed this conversation; your next message will include its changes"

function isMoved(error: unknown): boolean {
  return error instanceof StoreError && error.kind === "moved"
}

function isSame(stored: SessionRevision | undefined, known: SessionRevision): boolean {
  return (
    stored?.messageCount === known.messageCount &&
    stored.rewinds === known.rewinds &&
    stored.continued === known.continued
  )
}

/** For a session whose store could not be opened. */
export function createUnsavedJournal(started: { readonly id: SessionId; readonly system: string }): SessionJournal {
  return {
    append: () => Promise.resolve(),
    keepPartial: () => undefined,
    reshape: () => Promise.resolve(),
    rotate: () => Promise.resolve(ok(started)),
    lockCompression: () => Promise.resolve({ release: () => Promise.resolve() }),
    catchUp: () => Promise.resolve(undefined),
    isDeleted: () => false,
    title: () => Promise.resolve(null),
    setTitle: () => Promise.resolve({ kind: "no-session" }),
    setModel: () => Promise.resolve(),
    retitle: () => Promise.resolve(),
    rewind: () => Promise.resolve(),
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
  const giveUpAt = clock.now() + LOCK_TIMEOUT_MS
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

/** Detects a process of this machine that was killed while it held the lock; locks of other machines only expire. */
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
