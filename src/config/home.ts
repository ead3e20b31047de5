import { chmodSync, chownSync, existsSync, readFileSync, statSync } from "node:fs"
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from "node:path"
import { isInside } from "../base/is-inside.ts"
import { makeDirectories } from "../base/make-directories.ts"
import { realPath } from "../base/real-path.ts"
import { errorCode, explainSystemError } from "../base/system-error.ts"
import { accountHome } from "./account-home.ts"
import type { Environment } from "./environment.ts"
import { isProfileName } from "./profiles/profile-name.ts"

/** The directory of one profile. */
export interface Home {
  readonly path: string
  /** The home that holds the profiles; equal to `path` for the default profile. */
  readonly root: string
  /** `default`, the profile's name, or `custom` for a directory that is neither. */
  readonly profile: string
  readonly userHome: string
  file(...segments: string[]): string
  /** A path for messages: `~/…` inside the user's home. */
  display(path?: string): string
}

/** The home directory cannot be used; the message is one sentence for the user. */
export class HomeError extends Error {
  override readonly name = "HomeError"
}

/** Determines the home directory; does not access the disk beyond resolving links. Throws `HomeError` when the user has no home. */
export function resolveHome(environment: Environment): Home {
  const named = (environment.get("HERMES_HOME") ?? "").trim()
  const userHome = accountHome(environment)
  // Quotes keep the shell from expanding it.
  const expanded = userHome === undefined ? named : named.replace(/^~(?=\/|$)/, () => userHome)
  if (named !== "" && !isAbsolute(expanded)) {
    throw new HomeError(
      `HERMES_HOME is ${JSON.stringify(named)}, so the home would depend on the directory in which Hermes is started; set it to an absolute path`,
    )
  }
  if (named !== "") return homeAt(resolve(expanded), environment)
  if (userHome === undefined) {
    throw new HomeError(
      "HOME is not set to an absolute path, and this account has no home directory; set HOME or HERMES_HOME to one",
    )
  }
  return homeAt(platformDefault(userHome, environment), environment)
}

/** The home at a given path, for code that handles several profiles. */
export function homeAt(path: string, environment: Environment): Home {
  const userHome = accountHome(environment) ?? NO_HOME
  const root = rootOf(path, platformDefault(userHome, environment))
  return {
    path,
    root,
    profile: profileOf(path, root),
    userHome,
    file: (...segments) => join(path, ...segments),
    display: (shown = path) => displayPath(shown, userHome),
  }
}

/** Creates what a home needs on first use. Throws `HomeError`. */
export function ensureHome(home: Home, environment: Environment): void {
  const mode = homeMode(environment)
  for (const name of ["", ...DIRECTORIES]) ensureDirectory(home.file(name), { home, environment, mode })
}

/** The mode for secret files, or undefined where permission bits are not changed. */
export function secretMode(environment: Environment): number | undefined {
  return skipsPermissions(environment) ? undefined : 0o600
}

/** Whether this process runs in a container. `root` is the root of the file system; tests pass another. */
export function inContainer(environment: Environment, root = "/"): boolean {
  if ((environment.get("HERMES_CONTAINER") ?? "") !== "") return isEnabled(environment, "HERMES_CONTAINER")
  if (isEnabled(environment, "KUBERNETES_SERVICE_HOST")) return true
  if (existsSync(join(root, ".dockerenv")) || existsSync(join(root, "run/.containerenv"))) return true
  try {
    return /docker|kubepods|containerd|libpod|lxc/.test(readFileSync(join(root, "proc/1/cgroup"), "utf8"))
  } catch {
    // Not Linux, or not readable.
    return false
  }
}

/**
 * A warning for stderr when the default home is used although another profile is active, because a parent process did not pass
 * on `HERMES_HOME`.
 */
export function lostProfileWarning(environment: Environment): string | undefined {
  if ((environment.get("HERMES_HOME") ?? "").trim() !== "") return undefined
  const home = resolveHome(environment)
  const active = readActiveProfile(home.root)
  if (active === undefined || active === "default") return undefined
  return `HERMES_HOME was not passed on, so data goes to the default profile although "${active}" is active; start with -p ${active} or set HERMES_HOME`
}

/** The name in `active_profile`, trimmed; undefined when absent, empty, unreadable or not text. */
export function readActiveProfile(root: string): string | undefined {
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(readFileSync(join(root, "active_profile"))).trim()
    return text === "" ? undefined : text
  } catch {
    // An unreadable file counts as absent, so that the program can start.
    return undefined
  }
}

const DIRECTORIES = ["cron", "sessions", "logs", "logs/curator", "memories", "pairing", "hooks", "skills", "cache"]

/** The conventional home of accounts that have none. */
const NO_HOME = "/nonexistent"

function platformDefault(userHome: string, environment: Environment): string {
  if (process.platform !== "win32") return join(userHome, ".hermes")
  const local = (environment.get("LOCALAPPDATA") ?? "").trim()
  return join(local === "" ? join(userHome, "AppData", "Local") : local, "hermes")
}

function rootOf(path: string, platformHome: string): string {
  if (isInside(realPath(path), realPath(platformHome))) return platformHome
  return basename(dirname(path)) === "profiles" ? dirname(dirname(path)) : path
}

function profileOf(path: string, root: string): string {
  const below = relative(realPath(root), realPath(path)).split(sep)
  if (below.length === 1 && below[0] === "") return "default"
  const [folder, name, ...rest] = below
  return folder === "profiles" && name !== undefined && isProfileName(name) && rest.length === 0 ? name : "custom"
}

function displayPath(path: string, userHome: string): string {
  if (path === userHome) return "~"
  return isInside(path, userHome) ? `~/${relative(userHome, path).split(sep).join("/")}` : path
}

interface DirectoryContext {
  readonly home: Home
  readonly environment: Environment
  readonly mode: number
}

function ensureDirectory(path: string, { home, environment, mode }: DirectoryContext): void {
  try {
    const created = makeDirectories(path, mode)
    if (created !== undefined) changeOwner(path, environment)
    const stats = statSync(path)
    if (!stats.isDirectory()) throw new HomeError(`${home.display(path)} is not a directory; move it away`)
    const tooOpen = (stats.mode & 0o777 & ~mode) !== 0
    if (created !== undefined ? (stats.mode & 0o777) !== mode : tooOpen) restrictMode(path, { environment, mode })
  } catch (cause) {
    if (cause instanceof HomeError) throw cause
    throw new HomeError(
      `cannot create ${home.display(path)}: ${explainSystemError(cause)}; fix that, or set HERMES_HOME to a directory that you can write to`,
      { cause },
    )
  }
}

/** Does not change `/` or a directory directly below it, such as `/opt`: other programs need access to those. */
export function restrictMode(path: string, { environment, mode }: { environment: Environment; mode: number }): void {
  if (skipsPermissions(environment)) return
  const real = realPath(path)
  if (dirname(real) === real || dirname(dirname(real)) === dirname(real)) return
  try {
    chmodSync(path, mode)
  } catch (cause) {
    const code = errorCode(cause)
    if (code !== "EPERM" && code !== "EROFS" && code !== "ENOTSUP") throw cause
  }
}

function changeOwner(path: string, environment: Environment): void {
  const uid = numericId(environment.get("HERMES_UID"))
  const gid = numericId(environment.get("HERMES_GID"))
  if (uid === undefined && gid === undefined) return
  try {
    chownSync(path, uid ?? process.getuid?.() ?? 0, gid ?? process.getgid?.() ?? 0)
  } catch (cause) {
    if (errorCode(cause) !== "EPERM") throw cause
  }
}

function numericId(text: string | undefined): number | undefined {
  return text !== undefined && /^\d+$/.test(text.trim()) ? Number(text) : undefined
}

function homeMode(environment: Environment): number {
  const text = (environment.get("HERMES_HOME_MODE") ?? "").trim()
  return /^(0o?)?[0-7]{3}$/.test(text) ? Number.parseInt(text.replace("o", ""), 8) : 0o700
}

function skipsPermissions(environment: Environment): boolean {
  if (process.platform === "win32") return true
  const variables = ["HERMES_SKIP_CHMOD", "HERMES_MANAGED"]
  return variables.some((name) => isEnabled(environment, name)) || inContainer(environment)
}

/** Whether the variable is set to anything but an explicit no. */
function isEnabled(environment: Environment, name: string): boolean {
  const value = (environment.get(name) ?? "").trim().toLowerCase()
  return !["", "0", "false", "no", "off"].includes(value)
}
