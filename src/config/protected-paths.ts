/** Paths in a Hermes home that no tool reads: they hold keys, or text from untrusted sources. */
export const HERMES_SECRETS: readonly string[] = [
  "auth.json",
  "auth.lock",
  ".env",
  ".anthropic_oauth.json",
  "webhook_subscriptions.json",
  "auth/google_oauth.json",
  "cache/bws_cache.json",
  "cache/config.parsed.json",
  "mcp-tokens",
  "skills/.hub",
]

/** Paths in a Hermes home that no tool writes: secrets, the security policy, the session store. */
export const HERMES_PROTECTED: readonly string[] = [
  ".env",
  "auth.json",
  ".anthropic_oauth.json",
  "config.yaml",
  "permissions.yaml",
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

/** Paths in the user's home that hold keys and logins. No tool writes them, and the sandbox hides them. */
export const ACCOUNT_CREDENTIALS: readonly string[] = [
  ".netrc",
  ".pgpass",
  ".npmrc",
  ".pypirc",
  ".git-credentials",
  ".ssh",
  ".aws",
  ".gnupg",
  ".kube",
  ".docker",
  ".azure",
  ".config/gh",
  ".config/gcloud",
]
