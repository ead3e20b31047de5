import type { MemoryStore } from "../../knowledge/memory/memory-store.ts"

/** What the memory tool may do with the two files of the home. */
export type MemoryPort = Pick<MemoryStore, "add" | "replace" | "remove" | "read" | "search">
