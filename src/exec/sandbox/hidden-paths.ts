import { join } from "node:path"

import {
  ACCOUNT_CREDENTIALS,
  ACCOUNT_START_UP,
  HERMES_PRIVATE,
  HERMES_PROTECTED,
  HERMES_SECRETS,
} from "../../config/protected-paths.ts"
import { namesIn } from "../project/directory-names.ts"
import { expandNames } from "../project/expand-names.ts"
import { settingsWithLogins } from "./settings-with-logins.ts"
import { VISIBLE_DOTFILES, VISIBLE_IN_DOTFILES, VISIBLE_IN_LIBRARY, VISIBLE_LIBRARIES } from "./visible-dotfiles.ts"

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
export function hiddenPaths(
  { userHome, hermesHome, hermesRoot }: SandboxHomes,
  platform: NodeJS.Platform = process.platform,
): HiddenPaths {
  const homes = [...new Set([hermesRoot, hermesHome])]
  const secretsBelow = homes.flatMap((home) =>
    SECRETS.filter((name) => name.includes("/")).map((name) => join(home, name)),
  )
  const inHome = namesIn(userHome)
  const names = new Set(inHome)
  const account = [
    ...VISIBLE_CREDENTIALS.filter((name) => names.has(topOf(name))),
    ...settingsWithLogins(userHome, names),
  ]
  const isHidden = (name: string): boolean => (name.startsWith(".") ? !VISIBLE_DOTFILES.has(name) : BACKUP.test(name))
  const library = platform === "darwin" ? hiddenInLibrary(userHome) : []
  const hidden = [...account, ...inHome.filter(isHidden), ...library].map((name) => join(userHome, name))
  const programs = expandNames(
    userHome,
    ACCOUNT_START_UP.filter((name) => !name.startsWith(".") && names.has(topOf(name))),
  )
  const fixed = [...inHome.filter((name) => VISIBLE_DOTFILES.has(name)), ...programs]
  return {
    hidden: [...homes, ...secretsBelow, ...hidden, ...SYSTEM_PATHS, ...multiplexers()],
    shown: [
      ...homes.flatMap(shownIn),
      ...VISIBLE_IN_DOTFILES.map((name) => join(userHome, name)),
      ...(platform === "darwin" ? VISIBLE_IN_LIBRARY.map((name) => join(userHome, "Library", name)) : []),
    ],
    fixed: fixed.map((name) => join(userHome, name)),
  }
}

/** On macOS, applications keep their data, logins and keychains there. */
function hiddenInLibrary(userHome: string): readonly string[] {
  return namesIn(join(userHome, "Library"))
    .filter((name) => !VISIBLE_LIBRARIES.has(name))
    .map((name) => join("Library", name))
}

/** `hermes backup` writes to the home by default, and a backup contains keys. */
const BACKUP = /^hermes-backup-.*\.zip/u

function topOf(name: string): string {
  return name.split("/", 1)[0] ?? name
}

/** Credentials that hiding the dotfiles as a whole does not cover. Computed once: looking up all of them before each command takes long. */
const VISIBLE_CREDENTIALS: readonly string[] = ACCOUNT_CREDENTIALS.filter(
  (name) =>
    !topOf(name).startsWith(".") ||
    VISIBLE_DOTFILES.has(topOf(name)) ||
    VISIBLE_IN_DOTFILES.some((visible) => name.startsWith(`${visible}/`)),
)

export interface HiddenPaths {
  readonly hidden: readonly string[]
  /** Paths inside hidden ones that stay readable. */
  readonly shown: readonly string[]
  /** The visible dotfiles and programs of the account. They stay as they are even when the home is the working directory. */
  readonly fixed: readonly string[]
}

/** Secrets, even inside directories that are shown. */
const SECRETS: readonly string[] = [...HERMES_SECRETS, ...HERMES_PROTECTED, ...HERMES_PRIVATE]

/** The parts of a home that commands may need. The rest, including other profiles, is private to Hermes. */
const SHOWN = [
  "skills",
  "plugins",
  "lsp",
  "bin",
  "node",
  // Files that the conversation received or made. The other caches are for Hermes itself.
  "cache/audio",
  "cache/documents",
  "cache/images",
  "cache/screenshots",
  "cache/videos",
]

function shownIn(home: string): readonly string[] {
  return SHOWN.map((name) => join(home, name))
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
  "/etc/ssl/private",
  "/etc/letsencrypt/archive",
  "/etc/letsencrypt/keys",
  "/etc/kubernetes/admin.conf",
  "/etc/rancher",
  `/tmp/krb5cc_${process.getuid?.() ?? ""}`,
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
