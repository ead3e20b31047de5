import type { ProfileDirectories } from "../../../toolkit/ports/files.ts"

/** Directories that belong to one profile; an accidental change in another profile would be noticed late. */
const PROFILE_DIRECTORIES = new Set(["skills", "plugins", "cron", "memories"])

/** Why a write to another profile's home, or to a copy of a home, is refused; `cross_profile` allows it. */
export function crossProfileRefusal(path: string, directories: ProfileDirectories | undefined): string | undefined {
  const copy = copiedHome(path, directories)
  if (copy !== undefined) return `${path} is in ${copy}${ADVICE}`
  if (directories === undefined) return undefined
  const owner = ownerOf(path, directories.hermesRoot)
  if (owner === undefined || owner === directories.profile) return undefined
  return `${path} belongs to the profile ${owner}, and the active profile is ${directories.profile}${ADVICE}`
}

const ADVICE = "; set cross_profile to true if that is intended"

function copiedHome(path: string, directories: ProfileDirectories | undefined): string | undefined {
  if (/\/sandboxes\/[^/]+\/[^/]+\/home\/\.hermes(?:\/|$)/.test(path)) return "a sandbox's copy of the home"
  const mayBeCopy =
    directories !== undefined && directories.hermesRoot !== CONTAINER_HOME && directories.hermesHome !== CONTAINER_HOME
  return mayBeCopy && (path === CONTAINER_HOME || path.startsWith(`${CONTAINER_HOME}/`))
    ? "a container's copy of the home"
    : undefined
}

const CONTAINER_HOME = "/root/.hermes"

/** The profile that owns a path, if any. */
function ownerOf(path: string, root: string): string | undefined {
  if (!path.startsWith(`${root}/`)) return undefined
  const [first = "", second = "", third = ""] = path.slice(root.length + 1).split("/")
  if (first !== "profiles") return PROFILE_DIRECTORIES.has(first) ? "default" : undefined
  return PROFILE_DIRECTORIES.has(third) ? second : undefined
}
