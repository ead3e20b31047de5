import type { Config } from "../../config/load-config.ts"
import { isSecretKey } from "../../config/secrets.ts"
import { settingKeys } from "../../config/settings.ts"
import { maskSettings } from "../settings/mask-settings.ts"

/** Settings whose text the user wrote: it may be private and does not explain a bug. */
const FREE_TEXT = new Set([
  "agent.system_prompt",
  "agent.environment_hint",
  "agent.personalities",
  "personalities",
  "quick_commands",
  "onboarding.seen",
])

/** Lists the settings that differ from their defaults, as JSON text without secrets and private text. */
export function changedSettings(config: Config): readonly { readonly key: string; readonly json: string }[] {
  return settingKeys().flatMap((key) => {
    const name = key.split(".").at(-1) ?? ""
    const isShown = key !== "_config_version" && !isSecretKey(name) && !FREE_TEXT.has(key)
    if (!isShown || config.origin(key) === "default") return []
    const json = JSON.stringify(maskSettings(config.lookup(key), { key: name, secrets: "hidden" })) ?? ""
    return [{ key, json }]
  })
}
