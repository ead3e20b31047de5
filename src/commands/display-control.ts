import type { Config } from "../config/load-config.ts"
import { settingOf, type SettingValue } from "../config/settings.ts"
import type { NamedChoice } from "./lists/named-choice-list.ts"

/** What a `DisplayControl` can change, each named by the setting that keeps it. */
export type DisplayKey =
  | "display.skin"
  | "display.status_bar"
  | "display.tool_progress"
  | "display.show_reasoning"
  | "display.tui_status_indicator"
  | "display.busy_input_mode"
  | "display.sections.subagents"
  | "display.sections.activity"

/** How a conversation is shown. A change takes effect at once and lasts until the program ends; commands also save it. */
export interface DisplayControl {
  get<K extends DisplayKey>(key: K): SettingValue<K>
  set<K extends DisplayKey>(key: K, value: SettingValue<K>): void
  /** The skins that can be chosen; absent where none is used. */
  readonly skins?: () => readonly NamedChoice[]
  /** Shows a skin until the user has decided; undefined shows the chosen one again. */
  readonly previewSkin?: (name: string | undefined) => void
}

export interface DisplayControlOptions extends Pick<DisplayControl, "skins" | "previewSkin"> {
  /** Called after each change. */
  readonly changed: (key: DisplayKey) => void
}

/** A display that begins with the settings. */
export function createDisplayControl(
  config: Pick<Config, "get">,
  { changed, ...skins }: DisplayControlOptions,
): DisplayControl {
  const values = new Map<DisplayKey, unknown>()
  return {
    ...skins,
    get: (key) => settingOf(key).read(values.get(key)) ?? config.get(key),
    set: (key, value) => {
      values.set(key, value)
      changed(key)
    },
  }
}
