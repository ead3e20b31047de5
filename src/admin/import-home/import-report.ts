import type { ForeignAgent } from "./foreign-home.ts"

export const IMPORT_CATEGORIES = ["sessions", "memories", "rules", "skills", "commands", "mcp", "settings"] as const
export type ImportCategory = (typeof IMPORT_CATEGORIES)[number]

/** What became of one thing that was found. In a dry run: what would become of it. */
export interface ImportItem {
  readonly name: string
  /** `updated`: messages were added to a session of an earlier import. `proposed`: the user decides. */
  readonly outcome: "imported" | "updated" | "already-there" | "skipped" | "proposed"
  /** What was written, or why it was skipped. */
  readonly detail?: string
}

export interface CategoryReport {
  readonly category: ImportCategory
  readonly items: readonly ImportItem[]
  /** Sentences about the whole category. */
  readonly notes: readonly string[]
}

export interface ImportReport {
  readonly agent: ForeignAgent
  readonly from: string
  readonly dryRun: boolean
  readonly categories: readonly CategoryReport[]
  /** Files that could not be read. */
  readonly problems: readonly string[]
  /** Variables for keys that were found and are not set here. */
  readonly secrets: readonly string[]
  /** Whether these were copied to `.env`. */
  readonly secretsCopied: boolean
}
