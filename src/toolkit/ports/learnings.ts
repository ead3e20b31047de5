import type { LearningsStore } from "../../knowledge/learnings/learnings-store.ts"

/** What worked after an error, kept across sessions. */
export type LearningsPort = Pick<LearningsStore, "save" | "search" | "list" | "remove">
