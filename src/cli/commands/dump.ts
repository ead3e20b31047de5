import { createRedactor } from "../../base/redact.ts"
import type { Config } from "../../config/load.ts"
import { isSecretKey } from "../../config/secrets.ts"
import { settingKeys } from "../../config/settings.ts"
import type { Invocation } from "../command.ts"
import { maskedSettings } from "../masked-settings.ts"
import { collectSetup, type SetupFacts } from "../report/setup-facts.ts"
import { loadSettings } from "../settings-access.ts"
import { oneLine } from "../text-layout.ts"

/** Settings that hold text a person wrote; it may be private and explains no bug. */
const FREE_TEXT = new Set([
  "agent.system_prompt",
  "agent.environment_hint",
  "agent.personalities",
  "personalities",
  "quick_commands",
  "onboarding.seen",
])

/** `hermes dump`: the setup as plain text for a bug report. */
export async function run({ flags, terminal, home, environment }: Invocation): Promise<number> {
  const settings = await loadSettings({ home, environment })
  const facts = collectSetup(home, settings)
  const redactor = createRedactor({ enabled: true, secrets: [] })
  const lines = [
    "--- hermes dump ---",
    ...setupLines(facts),
    "api_keys:",
    ...facts.keys.map(
      (key) => `  ${key.name}: ${key.masked === undefined ? "not set" : flags.has("show-keys") ? key.masked : "set"}`,
    ),
    "features:",
    ...featureLines(facts),
    "config_overrides:",
    ...overrideLines(settings.config).map((line) => redactor.redact(line, { force: true })),
    "--- end dump ---",
  ]
  for (const line of lines) terminal.line(line)
  return 0
}

function setupLines(facts: SetupFacts): readonly string[] {
  const { model } = facts
  return [
    `version: ${facts.version} (${facts.build})`,
    `os: ${facts.system}`,
    `runtime: ${facts.runtime}`,
    `profile: ${facts.profile}`,
    `home: ${facts.home}`,
    `model: ${model.kind === "chosen" ? model.model : `not usable: ${model.reason}`}`,
    `provider: ${model.kind === "chosen" ? model.provider : "-"}`,
    `terminal: ${facts.terminalBackend}${facts.terminalOverride === undefined ? "" : ` (from ${facts.terminalOverride})`}`,
  ]
}

function featureLines(facts: SetupFacts): readonly string[] {
  return [
    `  toolsets: ${facts.toolsets.length === 0 ? "default" : facts.toolsets.join(", ")}`,
    `  mcp_servers: ${facts.mcpServers}`,
    `  memory_provider: ${facts.memoryProvider}`,
    `  gateway: ${facts.gatewayPid === undefined ? "not running" : "running"}`,
    `  platforms: ${facts.platforms.length === 0 ? "none" : facts.platforms.join(", ")}`,
    `  cron_jobs: ${facts.jobs.active} active / ${facts.jobs.total} total`,
    `  skills: ${facts.skills}`,
  ]
}

function overrideLines(config: Config): readonly string[] {
  const changed = settingKeys().filter((key) => {
    const last = key.split(".").at(-1) ?? ""
    return key !== "_config_version" && config.origin(key) !== "default" && !isSecretKey(last) && !FREE_TEXT.has(key)
  })
  if (config.broken !== undefined) return [`  (config.yaml does not parse: line ${config.broken.line})`]
  return changed.length === 0
    ? ["  (none)"]
    : changed.map((key) => {
        const shown = maskedSettings(config.lookup(key), { key: key.split(".").at(-1) ?? "", secrets: "hidden" })
        return `  ${key}: ${oneLine(JSON.stringify(shown) ?? "")}`
      })
}
