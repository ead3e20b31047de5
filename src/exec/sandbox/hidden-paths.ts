import { readdirSync } from "node:fs"
import { basename, join } from "node:path"

import { ACCOUNT_CREDENTIALS, HERMES_PROTECTED, HERMES_SECRETS } from "../../config/protected-paths.ts"

/** Home directories whose secrets commands in the sandbox must not see. */
export interface SandboxHomes {
  readonly userHome: string
  /** Home of the active profile and the root above it. */
  readonly hermesHome: string
  readonly hermesRoot: string
}

/**
 * Returns the paths that are empty for a command in the sandbox: the Hermes homes, the account's credential files, and sockets of programs
 * that could run something outside. A home is hidden as a whole and its harmless parts are mounted again: a mount over a single file is
 * lost when Hermes replaces the file, for example when it refreshes a login.
 */
export function hiddenPaths({ userHome, hermesHome, hermesRoot }: SandboxHomes): HiddenPaths {
  const homes = [...new Set([hermesRoot, hermesHome])]
  const secretsBelow = homes.flatMap((home) =>
    SECRETS.filter((name) => name.includes("/")).map((name) => join(home, name)),
  )
  const account = ACCOUNT_CREDENTIALS.map((name) => join(userHome, name))
  const hidden = [...homes, ...secretsBelow, ...account, ...SYSTEM_PATHS, ...multiplexers()]
  return { hidden, shown: homes.flatMap(shownIn) }
}

export interface HiddenPaths {
  readonly hidden: readonly string[]
  /** Paths inside hidden ones that stay readable. */
  readonly shown: readonly string[]
}

/** Secrets, even inside directories that are shown. */
const SECRETS: readonly string[] = [...HERMES_SECRETS, ...HERMES_PROTECTED]

/** The parts of a home that commands may need. The rest, including other profiles, is private to Hermes. */
const SHOWN = ["skills", "plugins", "lsp", "bin", "node"]

/** Shows subdirectories of the cache but not the files next to them, such as the parsed settings. */
function shownIn(home: string): readonly string[] {
  const caches = subdirectories(join(home, "cache")).filter((directory) => basename(directory) !== "code")
  return [...SHOWN.map((name) => join(home, name)), ...caches]
}

function subdirectories(directory: string): readonly string[] {
  try {
    const entries = readdirSync(directory, { withFileTypes: true })
    return entries.flatMap((entry) => (entry.isDirectory() ? [join(directory, entry.name)] : []))
  } catch {
    // There is no cache yet.
    return []
  }
}

/** Terminal multiplexers and editors run commands from their sockets outside the sandbox, and the sockets are in the writable /tmp. */
function multiplexers(): readonly string[] {
  const user = process.getuid?.() ?? ""
  return ["/tmp/tmux-", "/tmp/zellij-", "/tmp/emacs"].map((start) => `${start}${user}`)
}

/** Sockets work on a read-only file system too: a container engine or the session bus would start programs outside the sandbox. */
const SYSTEM_PATHS = [
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
