import type { Logger } from "../base/logger.ts"
import type { ReportProgress } from "../base/progress.ts"
import type { SessionId } from "../protocol/identifiers.ts"
import type { MessageWords } from "../protocol/message-words.ts"
import type { Message, MessageExtras } from "../protocol/message.ts"
import type { Usage } from "../protocol/usage.ts"

/**
 * Persistent storage for sessions. A session is a row of totals plus an append-only journal of messages. Several processes may use
 * all operations at once. No operation blocks the calling thread on a lock; each rejects with a `StoreError` when the database cannot
 * be used. Times are epoch seconds.
 */
export interface SessionStore {
  readonly info: StoreInfo

  createSession(session: NewSession): Promise<void>
  /**
   * Creates a session with its first messages in one transaction. A `title` that is taken gets the next number of its lineage.
   * Rejects with `exists` when the id is taken. Returns the row ids of the messages.
   */
  startSession(session: NewSession, messages: readonly StoredMessage[], title: string): Promise<readonly number[]>
  /** Creates the row if it is missing; never changes an existing one. */
  ensureSession(session: NewSession): Promise<void>
  /** Does nothing when the session has already ended. */
  endSession(id: SessionId, reason: string): Promise<void>
  reopenSession(id: SessionId): Promise<void>
  session(id: SessionId): Promise<SessionRow | undefined>
  /** Compare with an earlier revision to detect messages that were added or undone since. */
  revision(id: SessionId): Promise<SessionRevision | undefined>

  /**
   * Stores all messages and updates the counters in one transaction. Returns the row ids in order. With `open`, rejects with `moved`
   * when a compression has continued the session as another one; with `since`, when the session has changed since that revision.
   */
  append(
    id: SessionId,
    messages: readonly StoredMessage[],
    totals?: TotalsDelta,
    options?: { readonly open?: true; readonly since?: SessionRevision },
  ): Promise<readonly number[]>
  /** Deletes and re-inserts the whole transcript and recomputes the counters. Only for `/retry`. */
  replaceMessages(id: SessionId, messages: readonly StoredMessage[]): Promise<void>
  /** Removes the given user message and everything after it. Returns the text of that message. */
  undoTo(id: SessionId, messageId: number): Promise<string>
  /** Adds extra fields to stored messages in one transaction, such as the form that is sent to the model (`shown`). */
  addExtras(additions: readonly { readonly messageId: number; readonly extras: MessageExtras }[]): Promise<void>
  /** Active rows in id order. */
  messages(id: SessionId, options?: { readonly includeInactive?: boolean }): Promise<readonly MessageRow[]>
  /** The history that a resumed session sends to the model. */
  conversation(id: SessionId, options?: { readonly withAncestors?: boolean }): Promise<readonly Message[]>
  messagesAround(messageId: number, window: number): Promise<MessageWindow>
  anchoredView(messageId: number, window: number): Promise<AnchoredView>

  search(query: string, options?: MessageSearchOptions): Promise<readonly SearchHit[]>
  /** The word index of all messages, for searches that rank them themselves. */
  readonly words: MessageWords
  list(options?: ListOptions): Promise<readonly SessionSummary[]>
  count(options?: { readonly source?: string }): Promise<number>

  /** Cleans the title and rejects one that is too long or belongs to another session. */
  setTitle(id: SessionId, title: string): Promise<TitleOutcome>
  /** For generated titles: a title that is taken gets the next number of its lineage. */
  setGeneratedTitle(id: SessionId, title: string): Promise<string | undefined>
  nextTitle(title: string): Promise<string>
  resolveTitle(title: string): Promise<SessionId | undefined>
  /** The session with exactly this title. */
  titleOwner(title: string): Promise<SessionId | undefined>
  resolveId(idOrPrefix: string): Promise<SessionId | undefined>
  /** The newest sessions whose id starts with `prefix`, at most `limit`. */
  idsWithPrefix(prefix: string, limit: number): Promise<readonly SessionId[]>
  /**
   * Finds a session by exact id, title or unique id prefix, in this order. Then follows its compression chain to the newest session
   * and, when that is empty, to a child with messages.
   */
  resumeTarget(nameOrId: string): Promise<SessionId | undefined>
  compressionTip(id: SessionId): Promise<SessionId>
  /** The most recently used session of these sources, of those whose directory `accepts` takes. */
  latestSession(sources: readonly string[], accepts?: (cwd: string | null) => boolean): Promise<SessionId | undefined>
  lineage(id?: SessionId): Promise<readonly LineageNode[]>
  /** The oldest ancestor, through continuations, branches and delegates. */
  lineageRoot(id: SessionId): Promise<SessionId>

  addTotals(id: SessionId, totals: TotalsDelta): Promise<void>
  setTotals(id: SessionId, totals: TotalsDelta): Promise<void>
  setModel(id: SessionId, model: string): Promise<void>
  setDirectory(id: SessionId, cwd: string): Promise<void>
  /** Replaces the prompt and sets these keys of the model configuration. */
  setSystemPrompt(id: SessionId, prompt: string, modelConfig: Readonly<Record<string, unknown>>): Promise<void>
  setArchived(id: SessionId, archived: boolean): Promise<void>

  /**
   * Ends the parent with `compression` and creates its continuation, with the next title of the lineage and the given first messages,
   * in one transaction. The child never starts before its parent ends. Returns the row ids of the messages.
   *
   * With `known`, also copies the messages that other processes have added since, and rejects with `moved` when the parent was
   * continued or rewound meanwhile.
   */
  rotate(
    parent: SessionId,
    child: NewSession,
    messages?: readonly StoredMessage[],
    known?: KnownState,
  ): Promise<readonly number[]>
  /**
   * Ends the parent with `branched` and copies its messages to a new child: all of them, or those up to the row id `upTo`. Returns the
   * title of the child. Rejects with a `StoreError` when there is no such message.
   */
  branch(
    parent: SessionId,
    child: NewSession,
    options: { readonly title?: string; readonly upTo?: number },
  ): Promise<string>
  /** Returns whether `holder` got the lock. A holder for which `isGone` returns true loses it at once, any other when it expires. */
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
  /** All fields and active messages. */
  exportSession(
    id: SessionId,
    options?: { readonly includeInactive?: boolean },
  ): Promise<Record<string, unknown> | undefined>
  readonly meta: { get(key: string): Promise<string | undefined>; set(key: string, value: string): Promise<void> }
  /** Merges the search index in short transactions, then compacts the file if no other process has it open. */
  optimize(options?: { readonly progress?: ReportProgress }): Promise<CompactOutcome>
  stats(): Promise<StoreStats>
  /** What was done in the sessions that began in a time span. */
  activity(options: ActivityOptions): Promise<StoreActivity>
  close(): Promise<void>
}

export type StoreLogger = Pick<Logger, "debug" | "warning">

/** How the database was opened, for `doctor`, the banner and `status`. */
export interface StoreInfo {
  readonly engine: "sqlite" | "postgres"
  readonly location: string
  readonly schemaVersion: number
  readonly search: "full" | "no-trigram" | "none"
  readonly journalMode: string
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

/** A message with fields that only the journal stores. */
export type StoredMessage = Message & { readonly tokenCount?: number; readonly platformMessageId?: string }

export interface MessageRow {
  readonly id: number
  readonly sessionId: SessionId
  /** May be a role that only the Python edition writes, such as `session_meta`. */
  readonly role: string
  readonly message: Message | undefined
  /** The content as plain text; "[multimodal content]" when it has parts but no text. */
  readonly text: string
  readonly toolName: string | null
  readonly platformMessageId: string | null
  readonly timestamp: number
  readonly active: boolean
}

/** Changes whenever a session is written, so that a process can detect writes by others. */
export interface SessionRevision {
  readonly messageCount: number
  readonly rewinds: number
  /** A compression ended the session, and another one continues it. */
  readonly continued: boolean
}

/** The state of a session as a process last saw it. */
export interface KnownState {
  readonly revision: SessionRevision
  readonly lastMessageId: number
}

/** A row of `sessions`, decoded. */
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

/** Added to the totals of a session, or set as its totals. */
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
  /** Also list children, delegates and archived sessions. */
  readonly all?: boolean
}

export type SessionKind = "conversation" | "branch" | "continuation" | "delegate" | "child" | "archived"

/** One conversation. For a compressed one these are the values of its newest session, with the start time of the first. */
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

export interface MessageSearchOptions {
  readonly sources?: readonly string[]
  readonly excludeSources?: readonly string[]
  readonly roles?: readonly string[]
  readonly limit?: number
  readonly offset?: number
  readonly sort?: "newest" | "oldest"
  readonly includeInactive?: boolean
  /** Include the messages before and after each hit. Default: true. */
  readonly withContext?: boolean
  /** Epoch seconds, inclusive. */
  readonly after?: number
  /** Epoch seconds, exclusive. */
  readonly before?: number
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

/** `in-use`: another process has the database open, so that its file cannot be rewritten. */
export type CompactOutcome = "compacted" | "in-use"

export interface StoreStats {
  readonly sessions: number
  readonly messages: number
  readonly bySource: readonly { readonly source: string; readonly sessions: number }[]
  readonly sizeMb: number
  readonly walBytes: number
  readonly schemaVersion: number
  readonly search: StoreInfo["search"]
}

export interface ActivityOptions {
  /** Epoch seconds, inclusive. */
  readonly after: number
  readonly source?: string
}

export interface StoreActivity {
  /** Oldest first. */
  readonly sessions: readonly SessionActivity[]
  readonly messagesByRole: Readonly<Record<string, number>>
  /** Stored results by tool. */
  readonly toolResults: Readonly<Record<string, number>>
  readonly toolCalls: readonly ToolUse[]
}

export interface SessionActivity {
  readonly id: SessionId
  readonly source: string
  readonly model: string | null
  readonly title: string | null
  readonly kind: Exclude<SessionKind, "archived">
  readonly startedAt: number
  /** The time of the last message. */
  readonly lastAt: number
  readonly messages: number
  readonly toolCalls: number
  readonly apiCalls: number
  readonly usage: Usage
  readonly estimatedCostUsd: number | null
  readonly actualCostUsd: number | null
  readonly costStatus: string | null
}

export interface ToolUse {
  readonly name: string
  /** JSON, as the model wrote it. */
  readonly arguments: string
  readonly timestamp: number
}

/** `exists`: the id of a new session is taken, retry with another one. `deleted`: the session does not exist any more. `ambiguous`: several sessions have the name. `moved`: another process wrote to the session meanwhile. */
export type StoreErrorKind =
  | "unavailable"
  | "locked"
  | "corrupt"
  | "read-only"
  | "disk-full"
  | "exists"
  | "deleted"
  | "moved"
  | "ambiguous"
  | "failed"

/** `message` is one sentence for the user; `cause` is the error of the database engine. */
export class StoreError extends Error {
  readonly kind: StoreErrorKind
  constructor(kind: StoreErrorKind, message: string, options?: { readonly cause?: unknown }) {
    super(message, options)
    this.name = "StoreError"
    this.kind = kind
  }
}
