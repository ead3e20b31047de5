import type { Setting } from "./setting.ts"
import { AGENT_SETTINGS } from "./settings/agent.ts"
import { AUXILIARY_SETTINGS } from "./settings/auxiliary.ts"
import { DISPLAY_SETTINGS } from "./settings/display.ts"
import { EXECUTION_SETTINGS } from "./settings/execution.ts"
import { MODEL_SETTINGS } from "./settings/model.ts"
import { SAFETY_SETTINGS } from "./settings/safety.ts"
import { SERVICE_SETTINGS } from "./settings/services.ts"

/**
 * Every setting, once. Loading, validation, `config set`, completion and the reference page read these tables. They are not
 * merged into one object: copying four hundred properties would cost every start two milliseconds.
 */
const TABLES = [
  { title: "Model and providers", settings: MODEL_SETTINGS },
  { title: "Agent behaviour", settings: AGENT_SETTINGS },
  { title: "Auxiliary tasks", settings: AUXILIARY_SETTINGS },
  { title: "Safety", settings: SAFETY_SETTINGS },
  { title: "Execution", settings: EXECUTION_SETTINGS },
  { title: "Display", settings: DISPLAY_SETTINGS },
  { title: "Stores and services", settings: SERVICE_SETTINGS },
] as const

type Settings = typeof MODEL_SETTINGS &
  typeof AGENT_SETTINGS &
  typeof AUXILIARY_SETTINGS &
  typeof SAFETY_SETTINGS &
  typeof EXECUTION_SETTINGS &
  typeof DISPLAY_SETTINGS &
  typeof SERVICE_SETTINGS

export type SettingKey = keyof Settings
export type SettingValue<K extends SettingKey> = Settings[K] extends Setting<infer T> ? T : never

/** The setting of a key, typed by it. */
export function settingOf<K extends SettingKey>(key: K): Setting<SettingValue<K>>
export function settingOf(key: string): Setting {
  const found = findSetting(key)
  if (found === undefined) throw new Error(`there is no setting ${key}`)
  return found
}

export function findSetting(path: string): Setting | undefined {
  for (const { settings } of TABLES) {
    const table: Readonly<Record<string, Setting>> = settings
    if (Object.hasOwn(table, path)) return table[path]
  }
  return undefined
}

export function isSettingKey(path: string): path is SettingKey {
  return findSetting(path) !== undefined
}

export function settingKeys(): readonly string[] {
  return TABLES.flatMap(({ settings }) => Object.keys(settings))
}

export function settingEntries(): readonly (readonly [string, Setting])[] {
  return TABLES.flatMap(({ settings }): readonly (readonly [string, Setting])[] => Object.entries(settings))
}

/** The headings of the reference page, in order, with their keys. */
export function settingSections(): readonly { readonly title: string; readonly keys: readonly string[] }[] {
  return TABLES.map(({ title, settings }) => ({ title, keys: Object.keys(settings) }))
}

/** The settings in a section, such as `terminal.timeout` for `terminal`, or the setting of that name, such as `toolsets`. */
export function settingsUnder(name: string): readonly (readonly [string, Setting])[] {
  const found: (readonly [string, Setting])[] = []
  for (const { settings } of TABLES) {
    const table: Readonly<Record<string, Setting>> = settings
    for (const key in table) {
      const setting = table[key]
      const isUnder = key.startsWith(name) && (key.length === name.length || key[name.length] === ".")
      if (isUnder && setting !== undefined) found.push([key, setting])
    }
  }
  return found
}

/** The settings that an environment variable can set. */
export function settingsWithVariable(): readonly (readonly [string, Setting])[] {
  return settingEntries().filter(([, setting]) => setting.environment !== undefined)
}

/** The version of the file's layout that this release writes. */
export const CONFIG_VERSION = settingOf("_config_version").default
