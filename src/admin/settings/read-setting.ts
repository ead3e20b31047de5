import { nearest } from "../../base/nearest-name.ts"
import { fail, ok, type Result } from "../../base/result.ts"
import { maskSecret, secretVariable } from "../../config/secrets.ts"
import { settingKeys } from "../../config/settings.ts"
import type { HomeContext } from "../home-context.ts"
import { loadSettings } from "./load-settings.ts"

export interface SettingNotSet {
  /** The setting with the most similar name. */
  readonly suggestion: string | undefined
}

/** Returns the effective value of a setting, or a secret in masked form. */
export async function readSetting(context: HomeContext, path: string): Promise<Result<unknown, SettingNotSet>> {
  const { config, environment } = await loadSettings(context)
  const value = config.lookup(path)
  if (value !== undefined) return ok(value)
  const variable = secretVariable(path)
  const secret = variable === undefined ? undefined : environment.get(variable)
  if (secret !== undefined && secret !== "") return ok(maskSecret(secret))
  const suggestion = nearest(path, settingKeys())
  return fail({ suggestion: suggestion === path ? undefined : suggestion })
}
