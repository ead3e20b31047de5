import type { LearningsStore } from "../../knowledge/learnings/learnings-store.ts"

/** Fixes for past errors, stored across sessions. */
export type LearningsPort = Pick<LearningsStore, "save" | "search" | "list" | "remove">
