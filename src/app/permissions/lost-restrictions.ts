import { fail, ok } from "../../base/result.ts"
import type { Result } from "../../base/result.ts"
import type { Home } from "../../config/home.ts"
import { isCutOff, isSameText, readLastGood, writeLastGood } from "../../config/last-good-file.ts"
import type { Config } from "../../config/load-config.ts"
import { settingsUnder } from "../../config/settings.ts"
import type { ProfileDefinition, ToolRule } from "../../policy/rules/permission-rules.ts"

/** A file that restricts what Hermes may do, as it was read now. */
export interface RestrictingFile {
  /** Identifies the file within the home. */
  readonly name: string
  /** Undefined when there is no file. */
  readonly text: string | undefined
  readonly restrictions: readonly string[]
  /** What the user does after removing the file on purpose. Undefined where its absence is no loss. */
  readonly afterRemoval?: string
}

/**
 * Refuses a file that was damaged and still valid, so that it lost restrictions: one that is missing, or only the beginning of what it
 * was. A complete file that says something else is a change by the user, and is remembered for the next time.
 */
export function checkLostRestrictions(home: Home, file: RestrictingFile): Result<undefined> {
  const { name, text, restrictions, afterRemoval } = file
  const last = readLastGood(home, name)
  // The usual case: nothing was restricted and nothing is, so nothing can have been lost.
  if (last === undefined && restrictions.length === 0) return ok(undefined)
  const lost = last?.restrictions.filter((restriction) => !restrictions.includes(restriction)) ?? []
  const named = lost.map((restriction) => `\`${restriction}\``).join(", ")
  if (text === undefined) {
    if (lost.length === 0 || afterRemoval === undefined) return ok(undefined)
    return fail(`the file is missing, and with it ${named}. If you removed it yourself, ${afterRemoval}`)
  }
  // The same text restricts less in a run that ignores some of it, such as one on another platform.
  const isKnown = last !== undefined && restrictions.every((restriction) => last.restrictions.includes(restriction))
  if (isKnown && isSameText(text, last)) {
    // A record of an earlier version: without a salt, its hashes confirm a guessed line.
    if (last.salt === "") writeLastGood(home, name, { text, restrictions: last.restrictions })
    return ok(undefined)
  }
  if (last !== undefined && lost.length > 0 && isCutOff(text, last))
    return fail(
      `the end of the file is missing, and with it ${named}. If you removed that yourself, add a comment line at the end of the file`,
    )
  writeLastGood(home, name, { text, restrictions })
  return ok(undefined)
}

export function ruleRestrictions(rules: readonly ToolRule[]): readonly string[] {
  return rules.flatMap(({ decision, pattern }) => (decision === "allow" ? [] : [`${decision} ${pattern.text}`]))
}

/** What profiles do with the calls that no rule matches. */
export function profileRestrictions(profiles: readonly ProfileDefinition[]): readonly string[] {
  return profiles.flatMap(({ name, default: fallback, rules }) => [
    `approvals.profiles.${name}.default: ${fallback}`,
    ...ruleRestrictions(rules),
  ])
}

/** The settings of config.yaml that may not be replaced by their defaults unnoticed, such as the profile and the sandbox. */
export function settingRestrictions(config: Config): readonly string[] {
  const settings = Object.keys(config.user()).flatMap(settingsUnder)
  return settings.flatMap(([key, { strict, type }]) => {
    const isWritten = strict === true && type !== "list" && type !== "mapping" && config.origin(key) === "file"
    return isWritten ? [`${key}: ${String(config.lookup(key))}`] : []
  })
}
