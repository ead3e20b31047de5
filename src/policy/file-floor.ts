import { ACCOUNT_CREDENTIALS, HERMES_PROGRAMS, HERMES_PROTECTED, HERMES_SECRETS } from "../config/protected-paths.ts"
import { basename } from "node:path"

export interface FloorDirectories {
  readonly userHome: string
  /** The home of the active profile, and the root above all profiles. */
  readonly hermesHome: string
  readonly hermesRoot: string
  /** HERMES_WRITE_SAFE_ROOT: when set, the only directory tree that file tools may write to. */
  readonly writeRoot?: string
}

/** Returns why file tools must not read a file, to protect secrets from accidents. Paths are absolute and normalized. */
export function readRefusal(path: string, directories: FloorDirectories): string | undefined {
  if (isSecretFileName(path)) {
    return `${path} holds secrets and is not read by file tools; use an example file such as .env.example`
  }
  if (
    hermesHomes(path, directories).some((home) => HERMES_SECRETS.some((secret) => isWithin(path, join(home, secret))))
  ) {
    return `${path} holds credentials of Hermes and is not read by file tools`
  }
  if (ACCOUNT_CREDENTIALS.some((name) => isWithin(path, join(directories.userHome, name))) && !HARMLESS.test(path)) {
    return `${path} holds credentials of the account and is not read by file tools`
  }
  return undefined
}

/** Files next to keys that contain no secrets and that users may want help with, and the directories themselves. */
const HARMLESS =
  /\/\.ssh\/(?:config|known_hosts[^/]*|[^/]+\.pub)$|\/\.aws\/config$|\/\.(?:ssh|aws|kube|docker|azure|gnupg)$/u

/** Returns why file tools must not write a file. */
export function writeRefusal(path: string, directories: FloorDirectories): string | undefined {
  if (ACCOUNT_CREDENTIALS.some((name) => isWithin(path, join(directories.userHome, name)))) {
    return `${path} holds credentials or settings of the account and is not written by file tools`
  }
  if (
    SYSTEM_PATHS.some((system) => isWithin(path, system)) &&
    !TEMPORARY_PATHS.some((temporary) => isWithin(path, temporary))
  ) {
    return `${path} belongs to the system and is not written by file tools`
  }
  if (
    hermesHomes(path, directories).some((home) => HERMES_PROTECTED.some((name) => isWithin(path, join(home, name))))
  ) {
    return `${path} holds settings or credentials of Hermes; change it with \`hermes config\``
  }
  if (hermesHomes(path, directories).some((home) => HERMES_PROGRAMS.some((name) => isWithin(path, join(home, name))))) {
    return `${path} belongs to programs that Hermes starts and is not written by file tools`
  }
  if (directories.writeRoot !== undefined && !isWithin(path, directories.writeRoot)) {
    return `${path} is outside ${directories.writeRoot}, the only directory that file tools may write to`
  }
  return undefined
}

/** True for names of files that contain secrets, in any directory. */
export function isSecretFileName(path: string): boolean {
  return ENV_FILES.has(basename(path).toLowerCase())
}

/** True for the directory itself and everything in it. Compares whole path components. */
export function isWithin(path: string, directory: string): boolean {
  return path === directory || path.startsWith(directory.endsWith("/") ? directory : `${directory}/`)
}

/** Returns the homes that may contain the path: the active one, the root, and the profile that the path is in. */
function hermesHomes(path: string, { hermesHome, hermesRoot }: FloorDirectories): readonly string[] {
  const profiles = join(hermesRoot, "profiles/")
  const profile = path.startsWith(profiles) ? path.slice(profiles.length).split("/")[0] : undefined
  return [hermesHome, hermesRoot, ...(profile === undefined ? [] : [profiles + profile])]
}

function join(directory: string, name: string): string {
  return directory.endsWith("/") ? directory + name : `${directory}/${name}`
}

const ENV_FILES = new Set([
  ".env",
  ".env.local",
  ".env.development",
  ".env.production",
  ".env.test",
  ".env.staging",
  ".envrc",
])
const SYSTEM_PATHS = [
  "/etc",
  "/boot",
  "/usr/lib/systemd",
  "/private/etc",
  "/private/var",
  "/var/run/docker.sock",
  "/run/docker.sock",
]
/** Temporary directories of macOS. */
const TEMPORARY_PATHS = ["/private/var/folders", "/private/var/tmp"]
