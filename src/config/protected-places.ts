/** Files of a Hermes home that no tool reads: they hold keys, or what strangers wrote. */
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

/** Files of a Hermes home that no tool writes: secrets, the security policy, the record of what was said. */
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

/** Places of a Hermes home with code that Hermes runs: compiled chunks, language servers. No tool writes them; a sandbox may read them. */
export const HERMES_PROGRAMS: readonly string[] = ["cache/code", "lsp"]

/** Places of the account that hold its own keys and logins; no tool writes them, and a sandbox does not show them. */
export const ACCOUNT_PLACES: readonly string[] = [
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
