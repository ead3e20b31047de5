import type { RecallEntry } from "../../knowledge/recall/entry-chunks.ts"
import type { Recall } from "../../knowledge/recall/recall.ts"
import type { SessionId } from "../../protocol/identifiers.ts"
import type { SessionStore } from "../../state/store.ts"

/** Reading what past sessions hold. */
export interface SessionsPort {
  /** The running session; it is another one after a compression that took messages out. */
  sessionId(): SessionId
  /** The sessions of this profile, or of another one. Rejects with a `StoreError` whose sentence says why they cannot be read. */
  store(profile?: string): Promise<PastSessions>
  /** Finds by other words, in this profile. Absent where there is no index; rejects when it cannot be used. */
  recall?(): Promise<Recall>
  /** What memory and learnings hold now, found by the same search. */
  notes?(): Promise<readonly RecallEntry[]>
}

export type PastSessions = Pick<
  SessionStore,
  | "search"
  | "list"
  | "session"
  | "messages"
  | "around"
  | "anchoredView"
  | "resolveId"
  | "resolveTitle"
  | "lineage"
  | "lineageRoot"
>
