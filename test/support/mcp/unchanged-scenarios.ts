/** The scenarios that the built command passes as it is, without anything that only the suite knows. */
export const UNCHANGED_SCENARIOS: readonly string[] = [
  "server-initialize",
  "logging-set-level",
  "ping",
  "tools-list",
  "server-sse-multiple-streams",
  "resources-list",
  "resources-subscribe",
  "resources-unsubscribe",
  "prompts-list",
  "dns-rebinding-protection",
  "server-session-lifecycle",
  "server-sse-polling",
  "sep-2164-resource-not-found",
  "caching",
  "input-required-result-unsupported-methods",
  "http-header-validation",
]
