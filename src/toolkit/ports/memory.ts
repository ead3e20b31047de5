import type { MemoryStore } from "../../knowledge/memory/memory-store.ts"

/** Operations of the memory tool on MEMORY.md and USER.md. */
export type MemoryPort = Pick<MemoryStore, "add" | "replace" | "remove" | "read" | "search">
