import { fingerprint } from "../../base/random-and-hash.ts"
import type { Database } from "./connection.ts"
import { number } from "./row-values.ts"

/** A column definition that is valid in both CREATE TABLE and ADD COLUMN. */
interface Column {
  readonly name: string
  readonly definition: string
}

export interface Table {
  readonly name: string
  readonly columns: readonly Column[]
  readonly suffix?: string
}

/**
 * The version of new databases. At a lower one, a Python version that opens the database takes untitled sessions for those of
 * sub-agents and hides them, in both editions. Higher versions are accepted and kept.
 */
export const SCHEMA_VERSION = 16

/** From this version on, the search index contains tool names and calls. An older database gets a new index and this version. */
export const INDEX_VERSION = 11

/** From this schema version on, messages can be inactive. Readers of older versions ignore `active` and would show them. */
export const SOFT_DELETE_VERSION = 12

/**
 * Defines the schema. Missing tables and columns are added; anything else in the database is left alone. Names and meanings up to
 * `extra` are shared with the Python edition.
 */
export const TABLES: readonly Table[] = [
  table("schema_version", ["version INTEGER NOT NULL"]),
  table("state_meta", ["key TEXT PRIMARY KEY", "value TEXT"]),
  table("sessions", [
    "id TEXT PRIMARY KEY",
    "source TEXT NOT NULL",
    "user_id TEXT",
    "model TEXT",
    "model_config TEXT",
    "system_prompt TEXT",
    "parent_session_id TEXT REFERENCES sessions(id)",
    "started_at REAL NOT NULL",
    "ended_at REAL",
    "end_reason TEXT",
    "message_count INTEGER DEFAULT 0",
    "tool_call_count INTEGER DEFAULT 0",
    "input_tokens INTEGER DEFAULT 0",
    "output_tokens INTEGER DEFAULT 0",
    "cache_read_tokens INTEGER DEFAULT 0",
    "cache_write_tokens INTEGER DEFAULT 0",
    "reasoning_tokens INTEGER DEFAULT 0",
    "billing_provider TEXT",
    "billing_base_url TEXT",
    "billing_mode TEXT",
    "estimated_cost_usd REAL",
    "actual_cost_usd REAL",
    "cost_status TEXT",
    "cost_source TEXT",
    "pricing_version TEXT",
    "title TEXT",
    "api_call_count INTEGER DEFAULT 0",
    "cwd TEXT",
    "handoff_state TEXT",
    "handoff_platform TEXT",
    "handoff_error TEXT",
    "rewind_count INTEGER NOT NULL DEFAULT 0",
    "archived INTEGER NOT NULL DEFAULT 0",
  ]),
  table("messages", [
    "id INTEGER PRIMARY KEY AUTOINCREMENT",
    "session_id TEXT NOT NULL REFERENCES sessions(id)",
    "role TEXT NOT NULL",
    "content TEXT",
    "tool_call_id TEXT",
    "tool_calls TEXT",
    "tool_name TEXT",
    "timestamp REAL NOT NULL",
    "token_count INTEGER",
    "finish_reason TEXT",
    "reasoning TEXT",
    "reasoning_content TEXT",
    "reasoning_details TEXT",
    "codex_reasoning_items TEXT",
    "codex_message_items TEXT",
    "platform_message_id TEXT",
    "observed INTEGER DEFAULT 0",
    "active INTEGER NOT NULL DEFAULT 1",
    "extra TEXT",
  ]),
  table("compression_locks", [
    "session_id TEXT PRIMARY KEY",
    "holder TEXT NOT NULL",
    "acquired_at REAL NOT NULL",
    "expires_at REAL NOT NULL",
  ]),
  // Only in this edition. Triggers (derived-tables.ts) maintain them, whichever edition writes.
  table("session_activity", ["session_id TEXT PRIMARY KEY", "last_at REAL NOT NULL"], "WITHOUT ROWID"),
  table("message_clock", ["block INTEGER PRIMARY KEY", "min_at REAL NOT NULL", "max_at REAL NOT NULL"]),
]

/** Created after all columns exist. Both editions use these names. */
export const INDEXES: readonly string[] = [
  "CREATE INDEX IF NOT EXISTS idx_sessions_source ON sessions(source)",
  "CREATE INDEX IF NOT EXISTS idx_sessions_source_id ON sessions(source, id)",
  "CREATE INDEX IF NOT EXISTS idx_sessions_parent ON sessions(parent_session_id)",
  "CREATE INDEX IF NOT EXISTS idx_sessions_started ON sessions(started_at DESC)",
  "CREATE UNIQUE INDEX IF NOT EXISTS idx_sessions_title_unique ON sessions(title) WHERE title IS NOT NULL",
  "CREATE INDEX IF NOT EXISTS idx_messages_session ON messages(session_id, timestamp)",
  "CREATE INDEX IF NOT EXISTS idx_messages_session_active ON messages(session_id, active, timestamp)",
  "CREATE INDEX IF NOT EXISTS idx_messages_platform_msg_id ON messages(session_id, platform_message_id) WHERE platform_message_id IS NOT NULL",
  "CREATE INDEX IF NOT EXISTS idx_compression_locks_expires ON compression_locks(expires_at)",
  "CREATE INDEX IF NOT EXISTS idx_session_activity_last ON session_activity(last_at)",
]

/** Reads the version from the database, because a later Python edition may raise it while the database is open. */
export function readSchemaVersion(db: Database): number | undefined {
  const row = db.get("SELECT version FROM schema_version LIMIT 1")
  return row === undefined ? undefined : number(row, "version")
}

export function createTableSql(declared: Table): string {
  const columns = declared.columns.map((column) => `${column.name} ${column.definition}`).join(", ")
  return `CREATE TABLE IF NOT EXISTS ${declared.name} (${columns}) ${declared.suffix ?? ""}`
}

/** Changes whenever a definition changes, so that the next open checks the whole schema. */
export function definitionHash(statements: readonly string[]): string {
  return fingerprint(statements.join("\n"))
}

function table(name: string, columns: readonly string[], suffix?: string): Table {
  return {
    name,
    columns: columns.map((column) => {
      const space = column.indexOf(" ")
      return { name: column.slice(0, space), definition: column.slice(space + 1) }
    }),
    ...(suffix === undefined ? {} : { suffix }),
  }
}
