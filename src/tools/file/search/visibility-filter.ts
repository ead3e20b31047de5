import { basename, dirname, isAbsolute, join, posix } from "node:path"

import { isWithin } from "../../../policy/file-floor.ts"
import type { ProfileDirectories } from "../../../toolkit/ports/files.ts"
import { holdsSecrets, refusedDevice } from "../paths/refused-path.ts"
import type { SearchScope } from "./search-command.ts"

/**
 * Decides whether a name from a search program is shown, by rules that the programs do not have. There may be tens of thousands of
 * names, so most are decided without building the full path.
 */
export function createVisibilityFilter(
  scope: SearchScope,
  glob: string | undefined,
  directories: ProfileDirectories | undefined,
): (name: string) => boolean {
  const isGuarded = mayHoldSecrets(scope.directory, directories)
  const includesHidden = glob !== undefined && basename(glob).startsWith(".")
  const pathGlob = glob?.includes("/") === true ? glob.replace(/^\.\//, "") : undefined
  return (name) => {
    const local = name.startsWith("./") ? name.slice(2) : name
    const hasHiddenPart = local.startsWith(".") || local.includes("/.")
    if (hasHiddenPart && !scope.oneFile) {
      // A glob for hidden files includes these, but not files in hidden directories.
      const directory = dirname(local)
      const inHidden = directory !== "." && (directory.startsWith(".") || directory.includes("/."))
      if (!includesHidden || inHidden) return false
    }
    const path = join(scope.directory, local)
    if (isGuarded || hasHiddenPart || scope.oneFile) {
      if (refusedDevice(path) !== undefined || holdsSecrets(path, directories)) return false
    }
    if (pathGlob === undefined || scope.oneFile) return true
    return posix.matchesGlob(isAbsolute(pathGlob) ? path : local, pathGlob)
  }
}

/** Secrets are in hidden files or directories, in Hermes homes, in the directories of the account, or in /proc and /dev. */
function mayHoldSecrets(directory: string, directories: ProfileDirectories | undefined): boolean {
  if (/\/\.|^\/(?:proc|dev)(?:\/|$)/.test(directory) || directory === "/") return true
  const homes = directories === undefined ? [] : [directories.hermesHome, directories.hermesRoot]
  if (directories !== undefined && isWithin(directories.userHome, directory)) return true
  if (/^\/(?:etc|private)(?:\/|$)|\/(?:Library|snap)(?:\/|$)/u.test(directory)) return true
  return homes.some((home) => isWithin(directory, home) || isWithin(home, directory))
}
