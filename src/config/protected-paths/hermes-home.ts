/** Paths in a Hermes home that no tool reads: they hold keys, conversations, or text from untrusted sources. */
export const HERMES_SECRETS: readonly string[] = [
  "auth.json",
  "auth.lock",
  ".env",
  ".anthropic_oauth.json",
  "webhook_subscriptions.json",
  "auth/google_oauth.json",
  "cache/bws_cache.json",
  "cache/config.parsed.json",
  "cache/fence-key",
  "logs/audit.jsonl",
  "mcp-tokens",
  "skills/.hub",
  "state.db",
  "state.db-shm",
  "state.db-wal",
  "state-snapshots",
]

/** Tool results that were too long to send, in a directory for each conversation. */
export const HERMES_RESULTS = "cache/hermes-results"

/**
 * Paths in a Hermes home that only Hermes reads: what it knows about its settings and other conversations. A conversation reads its own results.
 * Memories, plans, commands, skills, imported notes and received files are no part of it: conversations share them.
 */
export const HERMES_PRIVATE: readonly string[] = [
  ".hermes_history",
  "backups",
  "cache/drafts",
  "cache/image_descriptions.json",
  "cache/partial-replies",
  "cache/rules",
  "cache/sandbox/running",
  HERMES_RESULTS,
  "checkpoints",
  "cron/output",
  "delegations",
  "kanban",
  "kanban.db",
  "learning_candidates.json",
  "learnings.jsonl",
  "logs",
  "memory_index.db",
  "memory_index.db-shm",
  "memory_index.db-wal",
  "pastes",
  "pending",
  "processes.json",
  "runtime",
  "sessions",
  "trajectories",
]

/** Paths in a Hermes home that no tool writes: secrets, the security policy, the session store. */
export const HERMES_PROTECTED: readonly string[] = [
  ".env",
  "auth.json",
  ".anthropic_oauth.json",
  "config.yaml",
  "permissions.yaml",
  "cache/mcp",
  "mcp-tokens",
  "pairing",
  "state.db",
  "state.db-wal",
  "state.db-shm",
]

/** Paths in a Hermes home with code that Hermes runs: compiled chunks, language servers. No tool writes them; the sandbox allows reading them. */
export const HERMES_PROGRAMS: readonly string[] = ["cache/code", "lsp"]

/** Paths in a Hermes home with text that Hermes puts into prompts or acts on. No other machine may write them. */
export const HERMES_INSTRUCTIONS: readonly string[] = [
  "SOUL.md",
  "active_profile",
  "cron",
  "home",
  "hooks",
  "learnings.jsonl",
  "memories",
  "plugins",
  "profiles",
  "skills",
]
