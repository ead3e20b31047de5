import type { ProfilePlaces } from "../../toolkit/ports/files.ts"

/** What a profile keeps for itself; a mistake in another one's would be noticed late. */
const OWN_AREAS = new Set(["skills", "plugins", "cron", "memories"])

/** Why a write reaches into the home of another profile, or into a copy of a home; `cross_profile` lifts it. */
export function crossProfileRefusal(path: string, places: ProfilePlaces | undefined): string | undefined {
  const mirror = mirrorOf(path, places)
  if (mirror !== undefined) return `${path} is in ${mirror}${ADVICE}`
  if (places === undefined) return undefined
  const owner = ownerOf(path, places.hermesRoot)
  if (owner === undefined || owner === places.profile) return undefined
  return `${path} belongs to the profile ${owner}, and the active profile is ${places.profile}${ADVICE}`
}

const ADVICE = "; set cross_profile to true if that is meant"

function mirrorOf(path: string, places: ProfilePlaces | undefined): string | undefined {
  if (/\/sandboxes\/[^/]+\/[^/]+\/home\/\.hermes(?:\/|$)/.test(path)) return "a sandbox's copy of the home"
  const mayBeCopy = places !== undefined && places.hermesRoot !== CONTAINER_HOME && places.hermesHome !== CONTAINER_HOME
  return mayBeCopy && (path === CONTAINER_HOME || path.startsWith(`${CONTAINER_HOME}/`))
    ? "a container's copy of the home"
    : undefined
}

const CONTAINER_HOME = "/root/.hermes"

/** The profile in whose own area a path lies. */
function ownerOf(path: string, root: string): string | undefined {
  if (!path.startsWith(`${root}/`)) return undefined
  const [first = "", second = "", third = ""] = path.slice(root.length + 1).split("/")
  if (first !== "profiles") return OWN_AREAS.has(first) ? "default" : undefined
  return OWN_AREAS.has(third) ? second : undefined
}
