import { basename, dirname, join } from "node:path"

import { readRegularText } from "../../base/regular-file.ts"
import { renameAside, replaceFile } from "../project/contained-changes.ts"
import type { Writable } from "../project/contained-changes.ts"
import { plainSettings } from "../project/git-repositories.ts"

export function hostileRepository(config: string, keys: readonly string[], writable: Writable): string {
  const what = `A command created the git repository in ${dirname(config)} with entries or hooks with which git starts programs (${keys.join(", ")}).`
  const renamed = neutralise(config, keys, writable)
  return renamed.length === 0
    ? `${what} Check ${config} before you use git there.`
    : `${what} Hermes renamed ${renamed.join(" and ")}; check the content and rename it back if you want it.`
}

/** Settings that are a link to nothing, too large or not accessible may become others. */
export function unreadableSettings(config: string, writable: Writable): string {
  const what = `A command created the git repository in ${dirname(config)} with settings that cannot be read.`
  try {
    const aside = renameAside(config, writable)
    if (aside !== undefined)
      return `${what} Hermes renamed ${config} to ${aside}; check the content and rename it back if you want it.`
  } catch {
    // The message asks the user to check it.
  }
  return `${what} Check ${config} before you use git there.`
}

/**
 * Renames what git would execute. The repositories of submodules and worktrees belong to another one, and git would not find their files
 * without the other settings.
 */
function neutralise(config: string, keys: readonly string[], writable: Writable): readonly string[] {
  const directory = dirname(config)
  const isPart = /\/\.git\/(?:modules|worktrees)\//u.test(`${directory}/`)
  const harmless = isPart
    ? ["hooks", "extensions.worktreeconfig", "core.worktree"]
    : ["hooks", "extensions.worktreeconfig"]
  const text = isPart ? (readRegularText(config) ?? "") : undefined
  const names = [
    ...(keys.includes("hooks") ? ["hooks"] : []),
    ...(keys.some((key) => !harmless.includes(key)) ? [basename(config)] : []),
  ]
  return names.flatMap((name) => {
    const path = join(directory, name)
    try {
      const aside = renameAside(path, writable)
      if (aside === undefined) return []
      if (path === config && text !== undefined) replaceFile(config, plainSettings(text), { writable, mode: 0o644 })
      return [`${path} to ${aside}`]
    } catch {
      // The message asks the user to check it.
      return []
    }
  })
}
