import type { Setting } from "./setting.ts"
import { findSetting, settingsUnder } from "./settings.ts"

/** What a dotted path of `config.yaml` names. */
export type SettingPath =
  | { readonly kind: "setting"; readonly setting: Setting }
  /** A part of the value of a setting, such as one provider of `providers`. */
  | { readonly kind: "member"; readonly key: string; readonly setting: Setting }
  /** A group of settings, such as `agent`. */
  | { readonly kind: "section"; readonly settings: readonly (readonly [string, Setting])[] }
  | { readonly kind: "unknown" }

export function resolveSettingPath(path: string): SettingPath {
  const setting = findSetting(path)
  if (setting !== undefined) return { kind: "setting", setting }
  const under = settingsUnder(path)
  if (under.length > 0) return { kind: "section", settings: under }
  const segments = path.split(".")
  for (let length = segments.length - 1; length > 0; length -= 1) {
    const key = segments.slice(0, length).join(".")
    const outer = findSetting(key)
    if (outer === undefined) continue
    const field = length === segments.length - 1 ? outer.fields?.[segments[length] ?? ""] : undefined
    if (field === undefined) return { kind: "member", key, setting: outer }
    return { kind: "setting", setting: outer.reserved === true ? { ...field, reserved: true } : field }
  }
  return { kind: "unknown" }
}

/** The setting that a single value for a section sets: `model: NAME` is a short form of `model.default`. */
export const MAIN_SETTINGS: Readonly<Record<string, string>> = { model: "model.default" }

/** Whether a path belongs to a setting that no code reads yet. */
export function isReserved(path: string): boolean {
  const target = resolveSettingPath(path)
  return (target.kind === "setting" || target.kind === "member") && target.setting.reserved === true
}
