import { readdirSync } from "node:fs"
import { join } from "node:path"

import { ACCOUNT_PLACES, HERMES_PROTECTED, HERMES_SECRETS } from "../../config/protected-places.ts"

/** Homes whose secrets commands in the sandbox must not see. */
export interface SandboxHomes {
  readonly userHome: string
  /** Home of the active profile and the root above it. */
  readonly hermesHome: string
  readonly hermesRoot: string
}

/**
 * What a command in the sandbox finds empty: the secrets of Hermes, the places of the account that file tools refuse to write, and the
 * sockets of programs that would do outside what is asked inside.
 */
export function hiddenPlaces({ userHome, hermesHome, hermesRoot }: SandboxHomes): readonly string[] {
  const homes = new Set([hermesHome, hermesRoot, ...profileHomes(hermesRoot)])
  const hermes = [...homes].flatMap((home) => [...HERMES_SECRETS, ...HERMES_PROTECTED].map((name) => join(home, name)))
  const account = ACCOUNT_PLACES.map((name) => join(userHome, name))
  return [...hermes, ...account, ...SYSTEM_PLACES]
}

function profileHomes(hermesRoot: string): readonly string[] {
  const profiles = join(hermesRoot, "profiles")
  try {
    return readdirSync(profiles).map((name) => join(profiles, name))
  } catch {
    // No other profiles.
    return []
  }
}

/** Sockets stay reachable on a read-only file system: a container engine or the session bus would start programs outside. */
const SYSTEM_PLACES = [
  "/etc/shadow",
  "/etc/gshadow",
  "/etc/sudoers",
  "/etc/sudoers.d",
  "/root/.ssh",
  "/run/docker.sock",
  "/run/podman",
  "/run/containerd",
  "/run/crio",
  "/run/user",
  "/run/dbus",
  "/run/systemd/private",
  "/run/screen",
  "/tmp/.X11-unix",
]
