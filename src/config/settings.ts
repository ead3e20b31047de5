import type { Setting } from "./setting.ts"
import { AGENT_SETTINGS } from "./settings/agent.ts"
import { AUXILIARY_SETTINGS } from "./settings/auxiliary.ts"
import { DISPLAY_SETTINGS } from "./settings/display.ts"
import { EXECUTION_SETTINGS } from "./settings/execution.ts"
import { MODEL_SETTINGS } from "./settings/model.ts"
import { SAFETY_SETTINGS } from "./settings/safety.ts"
import { SERVICE_SETTINGS } from "./settings/services.ts"

/** Every setting, once. Loading, validation, `config set`, completion and the reference page read this table. */
export const SETTINGS = {
  ...MODEL_SETTINGS,
  ...AGENT_SETTINGS,
  ...AUXILIARY_SETTINGS,
  ...SAFETY_SETTINGS,
  ...EXECUTION_SETTINGS,
  ...DISPLAY_SETTINGS,
  ...SERVICE_SETTINGS,
} as const

export type SettingKey = keyof typeof SETTINGS
export type SettingValue<K extends SettingKey> = SettingValues[K]

type SettingValues = {
  [K in SettingKey]: (typeof SETTINGS)[K] extends Setting<infer T> ? T : never
}

/** The setting of a key, typed by it. */
export function settingOf<K extends SettingKey>(key: K): Setting<SettingValue<K>> {
  const table: { readonly [Key in SettingKey]: Setting<SettingValues[Key]> } = SETTINGS
  return table[key]
}

/** The headings of the reference page, in order, with their keys. */
export const SETTING_SECTIONS: readonly { readonly title: string; readonly keys: readonly string[] }[] = [
  { title: "Model and providers", keys: Object.keys(MODEL_SETTINGS) },
  { title: "Agent behaviour", keys: Object.keys(AGENT_SETTINGS) },
  { title: "Auxiliary tasks", keys: Object.keys(AUXILIARY_SETTINGS) },
  { title: "Safety", keys: Object.keys(SAFETY_SETTINGS) },
  { title: "Execution", keys: Object.keys(EXECUTION_SETTINGS) },
  { title: "Display", keys: Object.keys(DISPLAY_SETTINGS) },
  { title: "Stores and services", keys: Object.keys(SERVICE_SETTINGS) },
]

export function isSettingKey(path: string): path is SettingKey {
  return Object.hasOwn(SETTINGS, path)
}

/** The version of the file's layout that this release writes. */
export const CONFIG_VERSION = SETTINGS._config_version.default
