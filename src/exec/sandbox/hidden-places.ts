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
 * What a command in the sandbox finds empty: the homes of Hermes, the places of the account that file tools refuse to write, and the
 * sockets of programs that would do outside what is asked inside. A home is hidden as a whole, and what may be seen of it is put back:
 * a cover over a single file falls off when Hermes replaces the file, as it does with every login that is renewed.
 */
export function hiddenPlaces({ userHome, hermesHome, hermesRoot }: SandboxHomes): HiddenPlaces {
  const homes = [...new Set([hermesRoot, hermesHome])]
  const secretsBelow = homes.flatMap((home) =>
    SECRETS.filter((name) => name.includes("/")).map((name) => join(home, name)),
  )
  const account = ACCOUNT_PLACES.map((name) => join(userHome, name))
  return { hidden: [...homes, ...secretsBelow, ...account, ...SYSTEM_PLACES], shown: homes.flatMap(shownIn) }
}

export interface HiddenPlaces {
  readonly hidden: readonly string[]
  /** Inside hidden places, and readable all the same. */
  readonly shown: readonly string[]
}

const SECRETS: readonly string[] = [...HERMES_SECRETS, ...HERMES_PROTECTED]

/** Other profiles are nobody's business here; the active one is a home of its own. */
function shownIn(home: string): readonly string[] {
  try {
    return readdirSync(home)
      .filter((name) => name !== "profiles" && !SECRETS.includes(name))
      .map((name) => join(home, name))
  } catch {
    // There is no home yet: nothing to hide, nothing to show.
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
