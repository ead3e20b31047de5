import type { SessionId } from "../protocol/identifiers.ts"
import type { Message, MessageExtras } from "../protocol/message.ts"
import type { Usage } from "../protocol/usage.ts"

/**
 * What must survive. A session is a row of totals plus an append-only log of messages. One interface, several engines; all
 * operations may be used by several processes at once, never block the calling thread on a lock, and reject with a
 * `StoreError` when the engine gave up. Times are epoch seconds.
 */
export interface SessionStore {
  readonly facts: StoreFacts

  createSession(session: NewSession): Promise<void>
  /**
   * A session begins with its first messages: row, messages and a title made from `title` (a clash resolved through the
   * lineage rule) in one transaction. Fails with `exists` when the id is taken.
   */
  startSession(session: NewSession, messages: readonly StoredMessage[], title: string): Promise<readonly number[]>
  /** Creates the row if it is missing; never changes an existing one. */
  ensureSession(session: NewSession): Promise<void>
  /** First end wins: ending an ended session does nothing. */
  endSession(id: SessionId, reason: string): Promise<void>
  reopenSession(id: SessionId): Promise<void>
  session(id: SessionId): Promise<SessionRow | undefined>
  /** Tells, compared with an earlier one, whether messages were added or taken back since. */
  mark(id: SessionId): Promise<SessionMark | undefined>

  /**
   * One transaction: all messages are durable, or none. Counters move with them. Gives the row ids in order. With `open` it
   * rejects with `moved` when a compression has continued the session in another one.
   */
  append(
    id: SessionId,
    messages: readonly StoredMessage[],
    totals?: TotalsDelta,
    options?: { readonly open?: true },
  ): Promise<readonly number[]>
  /** Deletes and re-inserts the whole transcript and recomputes the counters (retry only). */
  replaceMessages(id: SessionId, messages: readonly StoredMessage[]): Promise<void>
  /** Removes everything from the given message on; how depends on the file's schema stamp. Gives the removed user text. */
  undoTo(id: SessionId, messageId: number): Promise<string>
  /** Adds to what is kept beside stored messages, such as the form that is really sent (`shown`); all or none. */
  addExtras(additions: readonly { readonly messageId: number; readonly extras: MessageExtras }[]): Promise<void>
  /** Active rows in id order. */
  messages(id: SessionId, options?: { readonly includeInactive?: boolean }): Promise<readonly MessageRow[]>
  /** The history a resumed session sends: this session's rows decoded, in order. */
  conversation(id: SessionId, options?: { readonly withAncestors?: boolean }): Promise<readonly Message[]>
  around(messageId: number, window: number): Promise<MessageWindow>
  anchoredView(messageId: number, window: number): Promise<AnchoredView>

  search(query: string, options?: SearchOptions): Promise<readonly SearchHit[]>
  list(options?: ListOptions): Promise<readonly SessionSummary[]>
  count(options?: { readonly source?: string }): Promise<number>

  /** Cleans the text (3.8) and refuses one that is too long or owned by another session. */
  setTitle(id: SessionId, title: string): Promise<TitleOutcome>
  /** For generated titles: a clash is resolved through the lineage rule instead of failing. */
  setGeneratedTitle(id: SessionId, title: string): Promise<string | undefined>
  nextTitle(title: string): Promise<string>
  resolveTitle(title: string): Promise<SessionId | undefined>
  resolveId(idOrPrefix: string): Promise<SessionId | undefined>
  /** Exact id → title → unique prefix, then to the tip of its compression chain, then to a child that has messages. */
  resumeTarget(nameOrId: string): Promise<SessionId | undefined>
  compressionTip(id: SessionId): Promise<SessionId>
  /** The session last used on one of these sources. */
  latestSession(sources: readonly string[]): Promise<SessionId | undefined>
  lineage(id?: SessionId): Promise<readonly LineageNode[]>
  /** The first session of everything that grew out of one: continuations, branches and delegates. */
  lineageRoot(id: SessionId): Promise<SessionId>

  addTotals(id: SessionId, totals: TotalsDelta): Promise<void>
  setTotals(id: SessionId, totals: TotalsDelta): Promise<void>
  setModel(id: SessionId, model: string): Promise<void>
  /** The conversation goes on in another directory. */
  setDirectory(id: SessionId, cwd: string): Promise<void>
  setSystemPrompt(id: SessionId, prompt: string): Promise<void>
  setArchived(id: SessionId, archived: boolean): Promise<void>

  /**
   * Ends the parent with `compression`, creates the continuation with the next title of the lineage and its first messages;
   * one transaction. The child starts now, never before its parent's end. Gives the row ids of those messages.
   * With `known`, messages that others added since follow them, and it rejects with `moved` when the parent was continued or
   * rewound meanwhile.
   */
  rotate(
    parent: SessionId,
    child: NewSession,
    messages?: readonly StoredMessage[],
    known?: KnownState,
  ): Promise<readonly number[]>
  /**
   * Ends the parent with `branched`, copies every message field to a new child: all messages, or those up to the one with the
   * row id `upTo`. Gives the child's title; rejects with a `StoreError` when there is no such message.
   */
  branch(
    parent: SessionId,
    child: NewSession,
    options: { readonly title?: string; readonly upTo?: number },
  ): Promise<string>
  /** A holder of whom `isGone` says that it is dead loses the lock at once, others when its time is over. */
  tryLockCompression(
    id: SessionId,
    holder: string,
    options?: { readonly isGone?: (holder: string) => boolean },
  ): Promise<boolean>
  releaseCompression(id: SessionId, holder: string): Promise<void>

  deleteSession(id: SessionId): Promise<boolean>
  deleteIfEmpty(id: SessionId): Promise<boolean>
  sweep(): Promise<void>
  prune(options: {
    readonly olderThanDays: number
    readonly source?: string
    readonly dryRun?: boolean
  }): Promise<readonly SessionId[]>
  autoPrune(options: AutoPruneOptions): Promise<AutoPruneOutcome>
  exportSession(id: SessionId): Promise<Record<string, unknown> | undefined>
  readonly meta: { get(key: string): Promise<string | undefined>; set(key: string, value: string): Promise<void> }
  optimize(): Promise<void>
  stats(): Promise<StoreStats>
  close(): Promise<void>
}

/** Where the store tells what it did on its own; the app passes its logger. */
export interface StoreLog {
  debug(message: string): void
  warning(message: string): void
}

/** How the store was opened; `doctor`, banner and `status` show it. */
export interface StoreFacts {
  readonly engine: "sqlite" | "postgres"
  readonly location: string
  readonly schemaVersion: number
  readonly search: "full" | "no-trigram" | "none"
  readonly journal: string
}

export interface NewSession {
  readonly id: SessionId
  readonly source: string
  readonly startedAt: number
  readonly userId?: string
  readonly model?: string
  readonly modelConfig?: Readonly<Record<string, unknown>>
  readonly systemPrompt?: string
  readonly parent?: SessionId
  readonly cwd?: string
}

/** A message with what only the log needs. */
export type StoredMessage = Message & { readonly tokenCount?: number; readonly platformMessageId?: string }

export interface MessageRow {
  readonly id: number
  readonly sessionId: SessionId
  /** Includes tolerated foreign roles such as `session_meta`. */
  readonly role: string
  readonly message: Message | undefined
  /** The content as people read it; parts without text read "[multimodal content]". */
  readonly text: string
  readonly toolName: string | null
  readonly platformMessageId: string | null
  readonly timestamp: number
  readonly active: boolean
}

/** Where a session stands. Whoever keeps one can tell later whether somebody else has written to the session. */
export interface SessionMark {
  /** How many messages were ever added. */
  readonly added: number
  readonly rewinds: number
  /** A compression ended it: it goes on in another session. */
  readonly continued: boolean
}

/** What a process knows of a session: its mark, and the row of its last message. */
export interface KnownState {
  readonly mark: SessionMark
  readonly head: number
}

/** Every column of `sessions`, decoded. */
export interface SessionRow {
  readonly id: SessionId
  readonly source: string
  readonly userId: string | null
  readonly model: string | null
  readonly modelConfig: Readonly<Record<string, unknown>>
  readonly systemPrompt: string | null
  readonly parent: SessionId | null
  readonly startedAt: number
  readonly endedAt: number | null
  readonly endReason: string | null
  readonly messageCount: number
  readonly toolCallCount: number
  readonly usage: Usage
  readonly title: string | null
  readonly billingProvider: string | null
  readonly billingBaseUrl: string | null
  readonly billingMode: string | null
  readonly estimatedCostUsd: number | null
  readonly actualCostUsd: number | null
  readonly costStatus: string | null
  readonly costSource: string | null
  readonly pricingVersion: string | null
  readonly apiCallCount: number
  readonly cwd: string | null
  readonly archived: boolean
}

/** Added to (or set as) the totals of a session. */
export interface TotalsDelta {
  readonly usage: Usage
  readonly apiCalls?: number
  readonly model?: string
  readonly billingProvider?: string
  readonly billingBaseUrl?: string
  readonly billingMode?: string
  readonly estimatedCostUsd?: number
  readonly actualCostUsd?: number
  readonly costStatus?: string
  readonly costSource?: string
  readonly pricingVersion?: string
}

export interface ListOptions {
  readonly source?: string
  readonly excludeSources?: readonly string[]
  readonly limit?: number
  readonly offset?: number
  readonly orderBy?: "started" | "last-activity"
  /** Also children, delegates and archived rows, each with its kind. */
  readonly all?: boolean
}

export type SessionKind = "conversation" | "branch" | "continuation" | "delegate" | "child" | "archived"

/** One row per conversation: a compressed root shows its tip, with the root's start. */
export interface SessionSummary {
  readonly id: SessionId
  readonly lineageRoot: SessionId
  readonly kind: SessionKind
  readonly source: string
  readonly title: string | null
  readonly preview: string
  readonly model: string | null
  readonly cwd: string | null
  readonly startedAt: number
  readonly endedAt: number | null
  readonly lastActivity: number
  readonly messageCount: number
  readonly toolCallCount: number
}

export interface SearchOptions {
  readonly sources?: readonly string[]
  readonly excludeSources?: readonly string[]
  readonly roles?: readonly string[]
  readonly limit?: number
  readonly offset?: number
  readonly sort?: "newest" | "oldest"
  readonly includeInactive?: boolean
  /** The messages before and after each hit; on unless told otherwise. */
  readonly withContext?: boolean
  /** Epoch seconds: only messages from this moment on, or before it. */
  readonly after?: number
  readonly before?: number
  /** One hit per lineage, the best one; limit and offset count lineages. */
  readonly oncePerLineage?: boolean
  /** Nothing from the lineage of this session: what the asker already sees. */
  readonly exceptLineageOf?: SessionId
}

export interface SearchHit {
  readonly id: number
  readonly sessionId: SessionId
  readonly role: string
  readonly snippet: string
  readonly timestamp: number
  readonly toolName: string | null
  readonly source: string
  readonly model: string | null
  readonly sessionStarted: number
  readonly context: readonly { readonly role: string; readonly text: string }[]
}

export interface MessageWindow {
  readonly messages: readonly MessageRow[]
  readonly before: number
  readonly after: number
}

export interface AnchoredView extends MessageWindow {
  readonly opening: readonly MessageRow[]
  readonly closing: readonly MessageRow[]
}

export type TitleOutcome =
  | { readonly kind: "set"; readonly title: string | null }
  | { readonly kind: "too-long"; readonly length: number; readonly limit: number }
  | { readonly kind: "taken"; readonly by: SessionId }
  | { readonly kind: "no-session" }

export interface LineageNode {
  readonly id: SessionId
  readonly parent: SessionId | null
  readonly kind: SessionKind
  readonly title: string | null
  readonly startedAt: number
  readonly messageCount: number
  readonly endReason: string | null
}

export interface AutoPruneOptions {
  readonly olderThanDays: number
  readonly minIntervalHours: number
  readonly vacuum: boolean
}

export type AutoPruneOutcome =
  | { readonly kind: "not-due" }
  | { readonly kind: "pruned"; readonly sessions: number }
  | { readonly kind: "failed"; readonly message: string }

export interface StoreStats {
  readonly sessions: number
  readonly messages: number
  readonly bySource: readonly { readonly source: string; readonly sessions: number }[]
  readonly sizeMb: number
  readonly walBytes: number
  readonly schemaVersion: number
  readonly search: StoreFacts["search"]
}

/** `exists`: the id of a new session is taken; try another one. `moved`: somebody else wrote to the session meanwhile. */
export type StoreErrorKind =
  | "unavailable"
  | "locked"
  | "corrupt"
  | "read-only"
  | "disk-full"
  | "exists"
  | "moved"
  | "failed"

/** The store gave up. `message` is one sentence for a person; `cause` keeps the engine's error. */
export class StoreError extends Error {
  readonly kind: StoreErrorKind
  constructor(kind: StoreErrorKind, message: string, options?: { readonly cause?: unknown }) {
    super(message, options)
    this.name = "StoreError"
    this.kind = kind
  }
}
