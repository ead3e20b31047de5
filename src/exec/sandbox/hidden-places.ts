import { readdirSync } from "node:fs"
import { basename, join } from "node:path"

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
  const hidden = [...homes, ...secretsBelow, ...account, ...SYSTEM_PLACES, ...multiplexers()]
  return { hidden, shown: homes.flatMap(shownIn) }
}

export interface HiddenPlaces {
  readonly hidden: readonly string[]
  /** Inside hidden places, and readable all the same. */
  readonly shown: readonly string[]
}

/** Secrets inside folders that are shown. */
const SECRETS: readonly string[] = [...HERMES_SECRETS, ...HERMES_PROTECTED]

/** What commands may need of a home; everything else is Hermes' own business, other profiles included. */
const SHOWN = ["skills", "plugins", "lsp", "bin", "node"]

/** Of the cache only its folders: what lies beside them is Hermes' own, the parsed settings for one. */
function shownIn(home: string): readonly string[] {
  const caches = foldersIn(join(home, "cache")).filter((folder) => basename(folder) !== "code")
  return [...SHOWN.map((name) => join(home, name)), ...caches]
}

function foldersIn(folder: string): readonly string[] {
  try {
    const entries = readdirSync(folder, { withFileTypes: true })
    return entries.flatMap((entry) => (entry.isDirectory() ? [join(folder, entry.name)] : []))
  } catch {
    // There is no cache yet.
    return []
  }
}

/** They run in the open what they are told through their sockets, which lie where everything may be written. */
function multiplexers(): readonly string[] {
  const user = process.getuid?.() ?? ""
  return ["/tmp/tmux-", "/tmp/zellij-", "/tmp/emacs"].map((start) => `${start}${user}`)
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
  "/run/buildkit",
  "/run/libvirt",
  "/run/incus",
  "/run/snapd.socket",
  "/var/lib/incus/unix.socket",
  "/var/lib/lxd/unix.socket",
  "/var/snap/lxd/common/lxd/unix.socket",
  "/run/screen",
  "/tmp/.X11-unix",
  "/tmp/.ICE-unix",
]
