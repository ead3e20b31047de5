import { isRecord } from "../../base/json.ts"
import type { Environment } from "../../config/environment.ts"
import type { Config } from "../../config/load-config.ts"
import { maskSecret, PROVIDER_KEY_VARIABLES } from "../../config/secrets.ts"
import { isReserved } from "../../config/setting-path.ts"
import { isSettingKey, settingKeys } from "../../config/settings.ts"
import type { HomeContext } from "../home-context.ts"
import { loadSettings } from "./load-settings.ts"
import { maskSettings } from "./mask-settings.ts"

export interface DescribedSetting {
  readonly key: string
  /** Secrets are masked. */
  readonly value: unknown
  readonly origin: ReturnType<Config["origin"]>
  /** No code reads it yet, so it has no effect. */
  readonly reserved?: true
}

export interface SettingsDescription {
  /** The variables with API keys, masked; undefined when not set. */
  readonly apiKeys: readonly { readonly name: string; readonly value: string | undefined }[]
  readonly sections: readonly { readonly title: string; readonly settings: readonly DescribedSetting[] }[]
  /** Changed settings that belong to no section. */
  readonly otherChanges: readonly DescribedSetting[]
  readonly path: string
  /** Set when `config.yaml` does not parse, so that its settings are ignored. */
  readonly broken: Config["broken"]
}

/** The main settings and all that differ from their defaults, grouped for reading. */
export async function describeSettings(context: HomeContext): Promise<SettingsDescription> {
  const { config, environment } = await loadSettings(context)
  const describe = (key: string): DescribedSetting => ({
    key,
    value: maskSettings(config.lookup(key), { key: key.split(".").at(-1) ?? "", secrets: "ends" }),
    origin: config.origin(key),
    ...reservedMark(key),
  })
  const changed = changedKeys(config)
  const sections = SECTIONS.map(({ title, prefixes, always }) => {
    const changedHere = changed.filter((key) => prefixes.includes(key.split(".")[0] ?? ""))
    return { title, keys: [...new Set([...always.filter(isSettingKey), ...changedHere])] }
  })
  const shown = new Set(sections.flatMap(({ keys }) => keys))
  return {
    apiKeys: apiKeys(environment),
    sections: sections.map(({ title, keys }) => ({ title, settings: keys.map(describe) })),
    otherChanges: changed.filter((key) => !shown.has(key)).map(describe),
    path: config.path,
    broken: config.broken,
  }
}

/** The effective settings as a tree, with masked secrets. */
export async function effectiveSettings(context: HomeContext): Promise<unknown> {
  const { config } = await loadSettings(context)
  return maskSettings(config.effective(), { secrets: "ends" })
}

/** The effective settings by dotted key, each with its masked value and its origin. */
export async function settingsWithOrigin(
  context: HomeContext,
): Promise<Readonly<Record<string, Omit<DescribedSetting, "key">>>> {
  const { config } = await loadSettings(context)
  const leaves: Record<string, Omit<DescribedSetting, "key">> = {}
  const visit = (value: unknown, path: string): void => {
    if (isRecord(value) && Object.keys(value).length > 0) {
      for (const [name, inner] of Object.entries(value)) visit(inner, path === "" ? name : `${path}.${name}`)
    } else
      leaves[path] = {
        value: maskSettings(value, { key: path.split(".").at(-1) ?? "", secrets: "ends" }),
        origin: config.origin(path),
        ...reservedMark(path),
      }
  }
  visit(config.effective(), "")
  return leaves
}

function reservedMark(path: string): { readonly reserved?: true } {
  return isReserved(path) ? { reserved: true } : {}
}

/** Each section always has its `always` keys; other keys with its prefixes appear when they were changed. */
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
    always: ["display.streaming", "display.tool_progress", "display.busy_input_mode"],
  },
  { title: "Messaging", prefixes: ["gateway", "platforms", "streaming", "session_reset"], always: [] },
]

const COMMON_KEY_VARIABLES = ["OPENROUTER_API_KEY", "OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GOOGLE_API_KEY"]

function apiKeys(environment: Environment): SettingsDescription["apiKeys"] {
  const isSet = (name: string): boolean => (environment.get(name) ?? "") !== ""
  const names = new Set([...COMMON_KEY_VARIABLES, ...PROVIDER_KEY_VARIABLES.filter(isSet)])
  return Array.from(names, (name) => {
    const value = environment.get(name) ?? ""
    return { name, value: value === "" ? undefined : maskSecret(value) }
  })
}

function changedKeys(config: Config): readonly string[] {
  return settingKeys().filter((key) => key !== "_config_version" && config.origin(key) !== "default")
}
