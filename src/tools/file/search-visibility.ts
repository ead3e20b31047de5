import { basename, dirname, isAbsolute, join, posix } from "node:path"

import { isBelow } from "../../policy/file-floor.ts"
import type { ProfilePlaces } from "../../toolkit/ports/files.ts"
import { holdsSecrets, refusedDevice } from "./refused-source.ts"
import type { SearchPlace } from "./search-command.ts"

/**
 * Whether a name that a search program gave, below the place of the search, is shown: what the programs cannot tell by
 * themselves. Tens of thousands of names are asked about, so most are answered without looking at their path in full.
 */
export function createVisibility(
  place: SearchPlace,
  glob: string | undefined,
  places: ProfilePlaces | undefined,
): (name: string) => boolean {
  const isGuarded = mayHoldSecrets(place.directory, places)
  const asksForHidden = glob !== undefined && basename(glob).startsWith(".")
  const pathGlob = glob?.includes("/") === true ? glob.replace(/^\.\//, "") : undefined
  return (name) => {
    const local = name.startsWith("./") ? name.slice(2) : name
    const hasHiddenPart = local.startsWith(".") || local.includes("/.")
    if (hasHiddenPart && !place.oneFile) {
      // A glob that names hidden files asks for these, not for what is in hidden directories.
      const directory = dirname(local)
      const inHidden = directory !== "." && (directory.startsWith(".") || directory.includes("/."))
      if (!asksForHidden || inHidden) return false
    }
    const path = join(place.directory, local)
    if (isGuarded || hasHiddenPart || place.oneFile) {
      if (refusedDevice(path) !== undefined || holdsSecrets(path, places)) return false
    }
    if (pathGlob === undefined || place.oneFile) return true
    return posix.matchesGlob(isAbsolute(pathGlob) ? path : local, pathGlob)
  }
}

/** Secrets have hidden names, or lie in hidden directories, in the homes of Hermes, or with the processes. */
function mayHoldSecrets(directory: string, places: ProfilePlaces | undefined): boolean {
  if (/\/\.|^\/(?:proc|dev)(?:\/|$)/.test(directory) || directory === "/") return true
  const homes = places === undefined ? [] : [places.hermesHome, places.hermesRoot]
  return homes.some((home) => isBelow(directory, home) || isBelow(home, directory))
}
