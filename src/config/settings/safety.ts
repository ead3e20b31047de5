import { PERMISSION_PROFILES } from "../permission-profiles.ts"
import { choice, decimal, flag, integer, list, mapping, MAX_SECONDS, optionalText, text, texts } from "../setting.ts"

/** Built-in names are accepted in any case. Whether a profile of this name exists is checked with all settings together. */
function readProfileName(value: unknown): string | null | undefined {
  if (value === null || value === "") return null
  if (typeof value !== "string") return undefined
  const name = value.trim()
  return PERMISSION_PROFILES.find((known) => known === name.toLowerCase()) ?? name
}

/** What the agent may do without asking, and what is redacted. */
export const SAFETY_SETTINGS = {
  "approvals.mode": choice(
    ["manual", "smart", "off", ...PERMISSION_PROFILES],
    "manual",
    "Permission profile by its legacy name: manual is default, smart is auto, off is full-auto.",
    { strict: true },
  ),
  "approvals.profile": {
    ...optionalText("Permission profile, built-in or from `approvals.profiles`; overrides `approvals.mode`.", {
      strict: true,
    }),
    read: readProfileName,
  },
  "approvals.profiles": mapping("Custom permission profiles, each with `tool_rules` and `default`.", { strict: true }),
  "approvals.platforms": mapping("Permission profile and rules per platform, for example `cli`.", { strict: true }),
  "approvals.rules": list("Permanent permission rules, each with `pattern` and `decision`.", { strict: true }),
  "approvals.timeout": integer(
    0,
    "Seconds after which an approval request in the terminal counts as denied; 0 has no limit.",
    { min: 0, max: MAX_SECONDS },
  ),
  "approvals.gateway_timeout": integer(300, "Seconds after which an approval request in a chat counts as denied.", {
    min: 1,
    reserved: true,
  }),
  "approvals.cron_mode": choice(["deny", "approve"], "deny", "How scheduled runs answer approval requests.", {
    reserved: true,
  }),
  "approvals.headless_mode": choice(
    ["deny", "approve"],
    "deny",
    "How runs without a user, such as scripts, answer approval requests.",
  ),
  "approvals.auto_escalation": choice(
    ["deny", "ask"],
    "deny",
    "What the auto profile does with a command that it cannot decide.",
  ),
  "approvals.plan_allow_web": flag(true, "Plan mode may read the web.", { strict: true }),
  "approvals.mcp_reload_confirm": flag(true, "Ask before MCP servers are reloaded."),
  "approvals.destructive_slash_confirm": flag(true, "Ask before slash commands that discard work."),
  "approvals.audit.enabled": flag(true, "Write every decision to logs/audit.jsonl."),
  "approvals.audit.max_mb": decimal(10, "Size in megabytes at which the audit file is rotated.", { min: 0.1 }),
  "approvals.audit.keep": integer(5, "Number of rotated audit files to keep.", { min: 0 }),
  command_allowlist: texts([], "Kinds of commands that are not asked about, by the name that the approval shows."),
  "security.redact_secrets": flag(true, "Mask keys and tokens in logs and tool results.", {
    environment: { name: "HERMES_REDACT_SECRETS", strength: "wins" },
  }),
  "security.allow_private_urls": flag(false, "MCP servers and web tools may reach private addresses."),
  "security.trusted_hosts": texts([], "Hosts that MCP servers and web tools may reach at a private address."),
  "security.website_blocklist.enabled": flag(false, "Refuse the listed websites.", { reserved: true }),
  "security.website_blocklist.domains": texts([], "Domains to refuse.", { reserved: true }),
  "security.website_blocklist.shared_files": texts([], "Files with more domains, one per line.", { reserved: true }),
  "security.allow_lazy_installs": flag(true, "Offer to install an optional package when it is needed.", {
    reserved: true,
  }),
  "security.acked_advisories": texts([], "Security advisories that you have acknowledged."),
  "security.tirith_enabled": flag(true, "Let the tirith scanner check commands when it is installed.", {
    reserved: true,
  }),
  "security.tirith_path": text("tirith", "Path of the tirith scanner.", { reserved: true }),
  "security.tirith_timeout": decimal(5, "Timeout of the tirith scanner in seconds.", { min: 0.1, reserved: true }),
  "security.tirith_fail_open": flag(true, "Run the command when the tirith scanner fails.", { reserved: true }),
  "privacy.redact_pii": flag(false, "Mask phone numbers and ids of chat members for the model.", { reserved: true }),
  hooks: mapping("Programs to run on events, by event name."),
  hooks_auto_accept: flag(false, "Run hooks without asking for approval first, except those that a project brings.", {
    environment: { name: "HERMES_ACCEPT_HOOKS", strength: "wins" },
  }),
  hooks_claude_code: flag(false, "Also run the hooks in the settings.json files of Claude Code."),
  "plugins.enabled": texts([], "Plugins that may run; none runs unless named here."),
  "plugins.disabled": texts([], "Plugins that never run."),
  "plugins.packages": texts([], "Packages in `plugins/node_modules` of the home that may provide plugins."),
  "plugins.block_limit_seconds": decimal(10, "Seconds that a plugin may block Hermes before it is disabled.", {
    min: 0.1,
    max: 3600,
  }),
  "plugins.entries": mapping("Per plugin: its model access and its own configuration."),
  "checkpoints.enabled": flag(true, "Snapshot the project before the first change of each turn, for /rollback."),
  "checkpoints.max_snapshots": integer(20, "Maximum number of snapshots per directory.", { min: 1 }),
  "checkpoints.max_total_size_mb": integer(500, "Maximum size of all snapshots in megabytes.", { min: 1 }),
  "checkpoints.max_file_size_mb": decimal(
    10,
    "Maximum size of a file in a snapshot in megabytes; larger files are omitted.",
    { min: 0 },
  ),
  "checkpoints.auto_prune": flag(true, "Delete old snapshots automatically."),
  "checkpoints.retention_days": integer(7, "Days a snapshot is kept.", { min: 1 }),
  "checkpoints.delete_orphans": flag(true, "Delete snapshots of directories that no longer exist."),
  "checkpoints.min_interval_hours": decimal(24, "Minimum hours between two clean-ups.", { min: 0 }),
  worktree: flag(false, "Always work in a separate git worktree.", { strict: true }),
} as const
