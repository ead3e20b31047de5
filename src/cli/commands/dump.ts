import { loadHome } from "../../admin/loaded-home.ts"
import { changedSettings } from "../../admin/report/changed-settings.ts"
import { collectSetup, type KeyFacts, type SetupFacts } from "../../admin/report/setup-facts.ts"
import { createRedactor } from "../../base/redact.ts"
import type { Config } from "../../config/load-config.ts"
import type { Invocation } from "../command.ts"
import { homeContext } from "../home-context.ts"
import { oneLine } from "../../terminal/text-layout.ts"
import { buildId, VERSION } from "../version.ts"

/** `hermes dump`: the setup as plain text for a bug report. */
export async function run(invocation: Invocation): Promise<number> {
  const { flags, terminal } = invocation
  for (const line of await dumpLines(invocation, { showKeys: flags.has("show-keys") })) terminal.line(line)
  return 0
}

export async function dumpLines(
  invocation: Invocation,
  { showKeys }: { readonly showKeys: boolean },
): Promise<readonly string[]> {
  const home = await loadHome(homeContext(invocation))
  const facts = collectSetup(home, { version: VERSION, build: buildId() })
  const redactor = createRedactor({ enabled: true, secrets: [] })
  return [
    "--- hermes dump ---",
    ...setupLines(facts),
    "api_keys:",
    ...facts.keys.map((key) => `  ${key.name}: ${keyText(key, showKeys)}`),
    "features:",
    ...featureLines(facts),
    "config_overrides:",
    ...overrideLines(home.config).map((line) => redactor.redact(line, { force: true })),
    "--- end dump ---",
  ]
}

function keyText(key: KeyFacts, showMasked: boolean): string {
  if (key.state === "missing") return "not set"
  const text = showMasked ? key.masked : "set"
  return key.state === "removed" ? `${text} (removed with hermes auth remove)` : text
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
  if (config.broken !== undefined) return [`  (config.yaml does not parse: line ${config.broken.line})`]
  const changed = changedSettings(config)
  return changed.length === 0 ? ["  (none)"] : changed.map(({ key, json }) => `  ${key}: ${oneLine(json)}`)
}
