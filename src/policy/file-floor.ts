import { ACCOUNT_PLACES, HERMES_PROGRAMS, HERMES_PROTECTED, HERMES_SECRETS } from "../config/protected-places.ts"
import { basename } from "node:path"

export interface FloorPlaces {
  readonly userHome: string
  /** Home of the active profile and the root above it. */
  readonly hermesHome: string
  readonly hermesRoot: string
  /** HERMES_WRITE_SAFE_ROOT: the only tree that file tools may write to, when it is set. */
  readonly writeRoot?: string
}

/** Why a file may not be read through a file tool; a guard against accidents with keys. Paths are absolute and normalised. */
export function refuseRead(path: string, places: FloorPlaces): string | undefined {
  if (isSecretFileName(path)) {
    return `${path} holds secrets and is not read by file tools; look for an example file such as .env.example`
  }
  if (hermesHomes(path, places).some((home) => HERMES_SECRETS.some((secret) => isBelow(path, join(home, secret))))) {
    return `${path} holds credentials of Hermes and is not read by file tools`
  }
  if (ACCOUNT_PLACES.some((name) => isBelow(path, join(places.userHome, name))) && !HARMLESS.test(path)) {
    return `${path} holds credentials of the account and is not read by file tools`
  }
  return undefined
}

/** What people keep beside their keys and may want help with; directories hold nothing themselves. */
const HARMLESS =
  /\/\.ssh\/(?:config|known_hosts[^/]*|[^/]+\.pub)$|\/\.aws\/config$|\/\.(?:ssh|aws|kube|docker|azure|gnupg)$/u

/** Why a file may not be written through a file tool. */
export function refuseWrite(path: string, places: FloorPlaces): string | undefined {
  if (ACCOUNT_PLACES.some((name) => isBelow(path, join(places.userHome, name)))) {
    return `${path} holds credentials or settings of the account and is not written by file tools`
  }
  if (SYSTEM_PLACES.some((place) => isBelow(path, place)) && !TEMPORARY_PLACES.some((place) => isBelow(path, place))) {
    return `${path} belongs to the system and is not written by file tools`
  }
  if (hermesHomes(path, places).some((home) => HERMES_PROTECTED.some((name) => isBelow(path, join(home, name))))) {
    return `${path} holds settings or credentials of Hermes; change it with \`hermes config\``
  }
  if (hermesHomes(path, places).some((home) => HERMES_PROGRAMS.some((name) => isBelow(path, join(home, name))))) {
    return `${path} belongs to programs that Hermes starts and is not written by file tools`
  }
  if (places.writeRoot !== undefined && !isBelow(path, places.writeRoot)) {
    return `${path} is outside ${places.writeRoot}, the only place that may be written to here`
  }
  return undefined
}

/** A file that is called like one with secrets, wherever it lies. */
export function isSecretFileName(path: string): boolean {
  return ENV_FILES.has(basename(path).toLowerCase())
}

/** The place itself or something in it, by whole path components. */
export function isBelow(path: string, place: string): boolean {
  return path === place || path.startsWith(place.endsWith("/") ? place : `${place}/`)
}

/** The homes whose files the path could be: the active one, the root, and any other profile below the root. */
function hermesHomes(path: string, { hermesHome, hermesRoot }: FloorPlaces): readonly string[] {
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
const SYSTEM_PLACES = [
  "/etc",
  "/boot",
  "/usr/lib/systemd",
  "/private/etc",
  "/private/var",
  "/var/run/docker.sock",
  "/run/docker.sock",
]
/** Where macOS keeps temporary files. */
const TEMPORARY_PLACES = ["/private/var/folders", "/private/var/tmp"]
