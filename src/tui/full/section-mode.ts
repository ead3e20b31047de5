import type { Config } from "../../config/load-config.ts"
import type { SettingValue } from "../../config/settings.ts"

export type SectionMode = SettingValue<"display.details_mode">

/** How a section of the live area is shown. */
export function sectionMode(
  mode: SettingValue<"display.sections.subagents">,
  config: Pick<Config, "get">,
): SectionMode {
  return mode === "inherit" ? config.get("display.details_mode") : mode
}
