import { isRecord } from "../../../base/json.ts"
import type { Environment } from "../../../config/environment.ts"
import type { Config } from "../../../config/load.ts"
import { maskSecret, PROVIDER_KEY_VARIABLES } from "../../../config/secrets.ts"
import { isSettingKey, settingKeys } from "../../../config/settings.ts"
import type { Invocation } from "../../command.ts"
import { printJson } from "../../json-output.ts"
import { maskedSettings } from "../../masked-settings.ts"
import { loadSettings } from "../../settings-access.ts"
import { bold, oneLine } from "../../text-layout.ts"

/** The keys that a section always shows; others of the section appear when they were changed. */
const SECTIONS: readonly {
  readonly title: string
  readonly prefixes: readonly string[]
  readonly always: readonly string[]
}[] = [
  {
    title: "Model",
    prefixes: ["model", "providers", "custom_providers", "fallback_providers"],
    always: ["model.default", "model.provider", "model.base_url"],
  },
  {
    title: "Agent",
    prefixes: ["agent", "approvals", "memory", "delegation"],
    always: ["agent.max_turns", "agent.reasoning_effort", "approvals.profile", "memory.memory_enabled"],
  },
  { title: "Terminal", prefixes: ["terminal"], always: ["terminal.backend", "terminal.cwd", "terminal.timeout"] },
  {
    title: "Compression",
    prefixes: ["compression"],
    always: ["compression.enabled", "compression.threshold", "compression.target_ratio"],
  },
  { title: "Auxiliary", prefixes: ["auxiliary"], always: [] },
  {
    title: "Display",
    prefixes: ["display"],
    always: ["display.interface", "display.streaming", "display.tool_progress", "display.skin"],
  },
  { title: "Messaging", prefixes: ["gateway", "platforms", "streaming", "session_reset"], always: [] },
]

/** `hermes config` and `hermes config show` */
export async function run({ flags, terminal, home, environment: inherited }: Invocation): Promise<number> {
  const { config, environment } = await loadSettings({ home, environment: inherited })
  const withOrigin = flags.has("origin")
  if (flags.has("json")) {
    printJson(terminal, withOrigin ? flatWithOrigin(config) : maskedSettings(config.effective(), { secrets: "ends" }))
    return 0
  }
  const print = (title: string, rows: readonly (readonly [string, string])[]): void => {
    if (rows.length === 0) return
    terminal.line(bold(title, terminal.color))
    const width = Math.max(...rows.map(([name]) => name.length))
    for (const [name, value] of rows) terminal.line(`  ${name.padEnd(width)}  ${value}`)
    terminal.line()
  }
  print("Paths", [
    ["home", home.display()],
    ["config", home.display(home.file("config.yaml"))],
    ["secrets", home.display(home.file(".env"))],
    ["sessions", home.display(home.file("state.db"))],
  ])
  print("API keys", keyRows(environment))
  const shown = new Set<string>()
  for (const section of SECTIONS) {
    const keys = sectionKeys(section, config)
    for (const key of keys) shown.add(key)
    print(
      section.title,
      keys.map((key) => [key, settingText(key, { config, withOrigin })]),
    )
  }
  const others = changedKeys(config).filter((key) => !shown.has(key))
  print(
    "Other changes",
    others.map((key) => [key, settingText(key, { config, withOrigin })]),
  )
  if (config.broken !== undefined) {
    terminal.errLine(
      `${home.display(config.path)} does not parse (line ${config.broken.line}: ${config.broken.message}); its settings are ignored until it is repaired.`,
    )
  }
  return 0
}

function keyRows(environment: Environment): readonly (readonly [string, string])[] {
  const usual = ["OPENROUTER_API_KEY", "OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GOOGLE_API_KEY"]
  const set = PROVIDER_KEY_VARIABLES.filter((name) => (environment.get(name) ?? "") !== "")
  return [...new Set([...usual, ...set])].map((name) => {
    const value = environment.get(name) ?? ""
    return [name, value === "" ? "(not set)" : maskSecret(value)]
  })
}

function sectionKeys(section: (typeof SECTIONS)[number], config: Config): readonly string[] {
  const changed = changedKeys(config).filter((key) => section.prefixes.includes(key.split(".")[0] ?? ""))
  return [...new Set([...section.always.filter(isSettingKey), ...changed])]
}

/** Settings that come from somewhere else than the defaults. */
function changedKeys(config: Config): readonly string[] {
  return settingKeys().filter((key) => key !== "_config_version" && config.origin(key) !== "default")
}

function settingText(
  key: string,
  { config, withOrigin }: { readonly config: Config; readonly withOrigin: boolean },
): string {
  const value = maskedSettings(config.lookup(key), { key: key.split(".").at(-1) ?? "", secrets: "ends" })
  const text = typeof value === "string" ? (value === "" ? "(empty)" : oneLine(value)) : JSON.stringify(value)
  return withOrigin ? `${text}  (${config.origin(key)})` : text
}

function flatWithOrigin(config: Config): object {
  const leaves: Record<string, unknown> = {}
  const visit = (value: unknown, path: string): void => {
    if (isRecord(value) && Object.keys(value).length > 0) {
      for (const [name, inner] of Object.entries(value)) visit(inner, path === "" ? name : `${path}.${name}`)
    } else
      leaves[path] = {
        value: maskedSettings(value, { key: path.split(".").at(-1) ?? "", secrets: "ends" }),
        origin: config.origin(path),
      }
  }
  visit(config.effective(), "")
  return leaves
}
