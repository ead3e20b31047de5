import { readRegularText } from "../../base/regular-file.ts"
import { factsOf } from "../project/file-facts.ts"

/** Larger ones take too long to check. */
const MAX_SETTINGS_BYTES = 1_000_000

/** The text of a configuration file of git. */
export function settingsIn(config: string): string | undefined {
  return readRegularText(config, { maxBytes: MAX_SETTINGS_BYTES })
}

/** Whether there is a configuration file without a text that could be checked. */
export function isUnreadable(config: string): boolean {
  return factsOf(config) !== undefined && settingsIn(config) === undefined
}
