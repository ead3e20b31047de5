import { basename, dirname } from "node:path"

import {
  AGENT_INSTRUCTIONS,
  ACCOUNT_CREDENTIALS,
  ACCOUNT_START_UP,
  EXECUTED_IN_WORKSPACE,
  HERMES_PRIVATE,
  HERMES_PROGRAMS,
  HERMES_PROTECTED,
  HERMES_SECRETS,
  SYSTEM_PROGRAMS,
} from "../config/protected-paths.ts"
import { foldedPath } from "./folded-path.ts"
import { createPathList } from "./path-list.ts"

export interface FloorDirectories {
  readonly userHome: string
  /** The home of the active profile, and the root above all profiles. */
  readonly hermesHome: string
  readonly hermesRoot: string
  /** The directory that the user works in. */
  readonly workspaceRoot?: string
  /** The stored results of this conversation, without links. */
  readonly results?: string | undefined
  /** Other directories that may be written without a question. */
  readonly writable?: readonly string[]
  /** The directories of the user's PATH. */
  readonly programDirectories?: readonly string[]
  /** The directory that Hermes is installed in. */
  readonly programRoot?: string
  /** HERMES_WRITE_SAFE_ROOT: when set, the only directory tree that file tools may write to. */
  readonly writeRoot?: string
}

/**
 * Returns why file tools must not read a file. Paths are absolute and normalized. Names are compared without case and invisible
 * characters, because some file systems ignore both.
 */
export function readRefusal(written: string, directories: FloorDirectories): string | undefined {
  return firstReason(written, directories, readReason)
}

function readReason(path: string, directories: FloorDirectories): string | undefined {
  if (isSecretFileName(path)) {
    return `${path} holds secrets and is not read by file tools; use an example file such as .env.example`
  }
  const folded = foldedPath(path)
  const inHermes = [...hermesPaths(folded, directories), ...otherHermesPaths(folded)]
  if (inHermes.some((below) => SECRETS.has(below) || SECRET_COPY.test(below))) {
    return `${path} holds credentials or conversations of Hermes and is not read by file tools`
  }
  if (
    inHermes.some((below) => SETTINGS.test(below)) &&
    folded !== `${foldedPath(directories.hermesHome)}/config.yaml`
  ) {
    return `${path} has settings of another profile or a copy of settings, possibly with keys, and is not read by file tools`
  }
  if (inHermes.some((below) => PRIVATE.has(below)) && !isOwnResult(folded, directories)) {
    return `${path} belongs to Hermes itself or to other conversations and is not read by file tools${inHermes.some(isLog) ? "; the user can read logs with `hermes logs`" : ""}`
  }
  const inHome = pathBelow(folded, foldedPath(directories.userHome))
  if (inHome !== undefined && CREDENTIALS.has(inHome) && !HARMLESS.test(folded)) {
    return `${path} holds credentials of the account and is not read by file tools`
  }
  const inOtherHome = OTHER_HOME.exec(folded)?.[1]
  if (inHome === undefined && inOtherHome !== undefined && CREDENTIALS.has(inOtherHome) && !HARMLESS.test(folded)) {
    return `${path} holds credentials of another account and is not read by file tools`
  }
  if (PROCESS_SECRETS.test(folded))
    return `${path} shows the memory or environment of a process and is not read by file tools`
  return SYSTEM_SECRETS.test(folded)
    ? `${path} holds credentials of the system and is not read by file tools`
    : undefined
}

/** The first refusal of a path or of another path that it may stand for. */
function firstReason(
  written: string,
  directories: FloorDirectories,
  refuse: (path: string, directories: FloorDirectories) => string | undefined,
): string | undefined {
  for (const path of impliedPaths(written, directories.userHome)) {
    const reason = refuse(path, directories)
    if (reason !== undefined) return reason
  }
  return undefined
}

/**
 * A path and what other programs understand by it: `file:///etc/shadow`, `~alice/.ssh/id_rsa`, the kernel's links to the root of a process.
 * No such directory exists in a usual workspace, so that the name is not an ordinary one.
 */
function impliedPaths(path: string, userHome: string): readonly string[] {
  const address = /\/file:(?:\/+localhost)?(\/[^]*)$/iu.exec(path)?.[1]
  const named = /\/~([\w.-]*)(\/[^]*)?$/u.exec(path)
  const home = named === null ? undefined : namedHome(named[1] ?? "", userHome) + (named[2] ?? "")
  const ofProcess = /^\/proc\/(?:self|thread-self|\d+)(?:\/task\/\d+)?\/root(\/[^]*)$/u.exec(path)?.[1]
  return [path, address, home, ofProcess].flatMap((one) => (one === undefined ? [] : one.replaceAll(/\/{2,}/gu, "/")))
}

function namedHome(user: string, userHome: string): string {
  if (user === "" || user === basename(userHome)) return userHome
  return user === "root" ? "/root" : `/home/${user}`
}

/** Folded to lower case. */
const OTHER_HOME = /^\/(?:root|(?:home|users)\/[^/]+)\/(.+)$/u

/** What a process was started with, and its memory. Folded to lower case. */
const PROCESS_SECRETS =
  /^\/proc\/(?:self|thread-self|\d+)(?:\/task\/\d+)?\/(?:environ|mem|maps|smaps|auxv|cmdline|fd\/\d+)$|^\/proc\/kcore$|^\/dev\/(?:mem|kmem|port|sd[a-z]|nvme\d|hd[a-z]|vd[a-z]|xvd[a-z]|mmcblk|dm-|mapper\/)/u

/** Files next to keys that contain no secrets and that users may want help with, and the directories themselves. */
const HARMLESS =
  /\/\.ssh\/(?:config|known_hosts[^/]*|[^/]+\.pub)$|\/\.aws\/config$|\/\.(?:ssh|aws|kube|docker|azure|gnupg)$/u

const SYSTEM_SECRETS = new RegExp(
  [
    String.raw`^/(?:private/)?(?:var/)?run/secrets/.*$`,
    // Logins of containers and desktops, and tickets of Kerberos.
    String.raw`^/(?:var/)?run/(?:user/\d+/)?containers/(?:\d+/)?auth\.json$`,
    String.raw`^/(?:var/)?run/user/\d+/(?:keyring|gnupg|krb5cc)[^/]*(?:/.*)?$`,
    String.raw`^/(?:private/)?(?:var/)?tmp/krb5cc[^/]*(?:/.*)?$`,
    String.raw`^/var/lib/(?:rancher|kubelet/pki|sss/secrets|networkmanager)/.*$`,
    String.raw`^/(?:private/)?etc/(?:${[
      String.raw`g?shadow-?`,
      String.raw`master\.passwd`,
      String.raw`security/opasswd`,
      String.raw`sudoers(?:\.d/.*)?`,
      String.raw`krb5\.keytab`,
      String.raw`ssh/ssh_host_\w+_key`,
      String.raw`ssl/private/.*`,
      String.raw`pki/tls/private/.*`,
      String.raw`letsencrypt/(?:live|archive|accounts|keys)/.*`,
      String.raw`(?:kubernetes/(?:[^/]+\.conf|pki/.*\.key)|rancher/.*)`,
      String.raw`mysql/debian\.cnf`,
      String.raw`networkmanager/system-connections/.*`,
      String.raw`(?:wireguard|openvpn)/.*`,
      String.raw`ipsec\.(?:secrets|d/private/.*)`,
      String.raw`ppp/(?:chap|pap)-secrets`,
      String.raw`credstore[^/]*/.*`,
    ].join("|")})$`,
  ].join("|"),
  "u",
)

/** Returns why file tools must not write a file. */
export function writeRefusal(written: string, directories: FloorDirectories): string | undefined {
  return firstReason(written, directories, writeReason)
}

function writeReason(path: string, directories: FloorDirectories): string | undefined {
  const folded = foldedPath(path)
  const inHome = pathBelow(folded, foldedPath(directories.userHome))
  if (inHome !== undefined && CREDENTIALS.has(inHome)) {
    return `${path} holds credentials or settings of the account and is not written by file tools`
  }
  if (isSystemFile(folded)) return `${path} belongs to the system and is not written by file tools`
  if (isOwnProgram(folded, directories))
    return `${path} belongs to the program of Hermes and is not written by file tools`
  const inHermes = hermesPaths(folded, directories)
  if (inHermes.some((below) => PROTECTED.has(below))) {
    return `${path} holds settings or credentials of Hermes; change it with \`hermes config\``
  }
  if (inHermes.some((below) => PROGRAMS.has(below))) {
    return `${path} belongs to programs that Hermes starts and is not written by file tools`
  }
  const inWorkspace = isInWorkspace(folded, directories)
  if (inHermes.length > 0 && !inHermes.some(isPlan) && !isWorkspaceInHermes(folded, directories)) {
    return `${path} is in the home of Hermes, which only its own tools and commands change`
  }
  if (inHome !== undefined && START_UP.has(inHome) && !isWorkspaceInStartUp(folded, directories)) {
    return `${path} decides what programs execute for the account; the user has to change it`
  }
  if (!inWorkspace && isProgramOnPath(folded, directories)) {
    return `${path} is in a directory of programs (PATH); the user has to change it`
  }
  const executed = inWorkspace ? undefined : executedName(folded)
  if (executed !== undefined) {
    return `${path} (${executed}) is executed or obeyed by other programs, and is outside the workspace; the user has to change it`
  }
  if (directories.writeRoot !== undefined && !isWithin(path, directories.writeRoot)) {
    return `${path} is outside ${directories.writeRoot}, the only directory that file tools may write to`
  }
  return undefined
}

/** Returns why a user must agree before file tools write a file of the workspace: other programs execute it, or agents follow its text. */
export function writeQuestion(path: string, directories: FloorDirectories): string | undefined {
  const folded = foldedPath(path)
  const executed = executedName(folded)
  if (executed !== undefined) return `it changes ${executed}, which other programs execute or obey`
  const followed = agentInstructions(path, directories.workspaceRoot)
  if (followed !== undefined) return `it changes ${followed}, whose text agents follow in later sessions`
  if (isProgramOnPath(folded, directories)) return "it changes a program in a directory of the PATH"
  const inHome = pathBelow(folded, foldedPath(directories.userHome))
  return inHome !== undefined && START_UP.has(inHome) ? "it changes what programs execute for the account" : undefined
}

/** True for names of files that contain secrets, in any directory. */
export function isSecretFileName(path: string): boolean {
  return ENV_FILES.has(foldedPath(basename(path)))
}

/** True for the directory itself and everything in it. Compares whole path components. */
export function isWithin(path: string, directory: string): boolean {
  if (!path.startsWith(directory)) return false
  return path.length === directory.length || directory.endsWith("/") || path[directory.length] === "/"
}

/** The part of the path below a directory; undefined when it is not in it. */
function pathBelow(path: string, directory: string): string | undefined {
  return isWithin(path, directory) ? path.slice(directory.length).replace(/^\//u, "") : undefined
}

/** The path relative to every home that contains it: the active one, the root, and the profile that the path is in. */
function hermesPaths(folded: string, { hermesHome, hermesRoot }: FloorDirectories): readonly string[] {
  const root = foldedPath(hermesRoot)
  const below = pathBelow(folded, root)
  const profile = below === undefined ? null : /^profiles\/[^/]+/u.exec(below)
  const homes = new Set([foldedPath(hermesHome), root, ...(profile === null ? [] : [`${root}/${profile[0]}`])])
  return [...homes].flatMap((home) => pathBelow(folded, home) ?? [])
}

/** The path relative to each directory `.hermes` that contains it, and to a profile there: it may be the home of another account. */
function otherHermesPaths(folded: string): readonly string[] {
  return [...folded.matchAll(/\/\.hermes\/(?:profiles\/[^/]+\/)?/gu)].map((home) =>
    folded.slice(home.index + home[0].length),
  )
}

function isLog(below: string): boolean {
  return isWithin(below, "logs")
}

function isOwnResult(folded: string, { results }: FloorDirectories): boolean {
  return results !== undefined && isWithin(folded, foldedPath(results))
}

function isInWorkspace(folded: string, directories: FloorDirectories): boolean {
  return writableRoots(directories).some((root) => isWithin(folded, foldedPath(root)))
}

/** Where file tools write without a question. A temporary directory that contains the user's home allows nothing in it. */
export function writableRoots({ workspaceRoot, writable = [], userHome }: FloorDirectories): readonly string[] {
  const others = writable.filter((root) => !isWithin(userHome, root))
  return workspaceRoot === undefined ? others : [workspaceRoot, ...others]
}

/** Plan mode writes plans below the working directory, which may be the one that has the home of Hermes. */
function isPlan(below: string): boolean {
  return /^plans\/[^/]+\.md$/u.test(below)
}

/** The user opened a directory such as the one of a skill to work on it. */
function isWorkspaceInHermes(folded: string, { workspaceRoot, hermesRoot, hermesHome }: FloorDirectories): boolean {
  if (workspaceRoot === undefined) return false
  const root = foldedPath(workspaceRoot)
  return [hermesRoot, hermesHome].some((home) => isWithin(root, foldedPath(home))) && isWithin(folded, root)
}

/** The user opened a directory such as `~/.config/nvim` to work on it. */
function isWorkspaceInStartUp(folded: string, { workspaceRoot, userHome }: FloorDirectories): boolean {
  if (workspaceRoot === undefined) return false
  const root = foldedPath(workspaceRoot)
  const inHome = pathBelow(root, foldedPath(userHome))
  return inHome !== undefined && START_UP.has(inHome) && isWithin(folded, root)
}

/** The user may also work on Hermes itself. */
function isOwnProgram(folded: string, { programRoot, workspaceRoot }: FloorDirectories): boolean {
  if (programRoot === undefined || !isWithin(folded, foldedPath(programRoot))) return false
  return workspaceRoot === undefined || !isWithin(folded, foldedPath(workspaceRoot))
}

/** A program is found directly in a directory of the PATH, not below it. */
function isProgramOnPath(folded: string, { programDirectories = [] }: FloorDirectories): boolean {
  const directory = dirname(folded)
  return programDirectories.some((program) => foldedPath(program) === directory)
}

function isSystemFile(folded: string): boolean {
  if (isWithin(folded, "/dev")) return !USUAL_DEVICE.test(folded)
  return (
    SYSTEM_PATHS.some((system) => isWithin(folded, system)) && !TEMPORARY_PATHS.some((path) => isWithin(folded, path))
  )
}

/** The part of a path that other programs execute or obey, for example `.git/hooks`; undefined for other paths. */
export function executedByOthers(path: string): string | undefined {
  return executedName(foldedPath(path))
}

function executedName(folded: string): string | undefined {
  if (MAKES_REPOSITORY.test(folded)) return "a git repository"
  const whole = `${folded}/`
  const named = EXECUTED.find(([part]) => whole.includes(part))?.[1]
  // Remotes, refs, alternates: git obeys every file there, and only git has a reason to write them.
  return named ?? (folded.includes("/.git/") && !folded.endsWith("/.git/info/exclude") ? ".git" : undefined)
}

/**
 * The file or directory with instructions for agents that a path is in, as it is usually written; undefined for other paths. Where the user works in
 * such a directory, for example on a skill, only what is below it counts.
 */
export function agentInstructions(path: string, workspaceRoot?: string): string | undefined {
  const whole = foldedPath(path)
  const root = workspaceRoot === undefined ? undefined : foldedPath(workspaceRoot)
  const folded = root === undefined || root === "/" || !isWithin(whole, root) ? whole : whole.slice(root.length)
  const part = `${folded}/`
  return INSTRUCTIONS.find(([name]) => part.includes(name))?.[1]
}

/** A link to the files of a repository, and the file that makes a directory a bare one: git then obeys the settings in it. */
const MAKES_REPOSITORY = /\/(?:\.git|head)$/u

const SECRETS = createPathList(HERMES_SECRETS)
/** What Hermes, editors and users name a copy of a file with secrets, and the temporary file of a write that was interrupted. */
const SECRET_COPY =
  /^(?:[.#]?(?:auth\.json|state\.db|webhook_subscriptions\.json)|[.#]?\.(?:env|anthropic_oauth\.json))(?!\.(?:example|sample|template)$)[.~#_-][^/]*$/u
const SETTINGS = /^[.#]?config\.ya?ml(?:[.~#_-][^/]*)?$/u
const PRIVATE = createPathList(HERMES_PRIVATE)
const PROTECTED = createPathList(HERMES_PROTECTED)
const PROGRAMS = createPathList(HERMES_PROGRAMS)
const CREDENTIALS = createPathList(ACCOUNT_CREDENTIALS)
const START_UP = createPathList(ACCOUNT_START_UP)
/** As a path contains it that ends in a slash; `*.x` matches every name that ends in `.x`. */
function partOfPath(name: string): string {
  return name.startsWith("*") ? `${foldedPath(name.slice(1))}/` : `/${foldedPath(name)}/`
}

const EXECUTED = EXECUTED_IN_WORKSPACE.map((name) => [partOfPath(name), name] as const)
const INSTRUCTIONS = AGENT_INSTRUCTIONS.map((name) => [partOfPath(name), name] as const)

const ENV_FILES = new Set([
  ".env",
  ".env.local",
  ".env.development",
  ".env.production",
  ".env.test",
  ".env.staging",
  ".envrc",
])
/** Memory as a file system, and what every program may write to. */
const USUAL_DEVICE = /^\/dev\/(?:null|shm(?:\/|$)|stdout$|stderr$|tty$|fd\/)/u
const SYSTEM_PATHS = [
  "/proc",
  "/sys",
  "/etc",
  "/boot",
  "/usr/lib/systemd",
  "/var/spool/cron",
  "/private/etc",
  "/private/var",
  "/var/run/docker.sock",
  "/run/docker.sock",
  ...SYSTEM_PROGRAMS,
]
/** Temporary directories of macOS. */
const TEMPORARY_PATHS = ["/private/var/folders", "/private/var/tmp"]
