import { posix } from "node:path"
import {
  ACCOUNT_CREDENTIALS,
  ACCOUNT_START_UP,
  AGENT_INSTRUCTIONS,
  EXECUTED_IN_WORKSPACE,
} from "../../config/protected-paths.ts"
import { agentInstructions, executedByOthers, isWithin } from "../file-floor.ts"
import { foldedPath } from "../folded-path.ts"
import { createPathList } from "../path-list.ts"
import type { CommandFacts } from "./command-verdict.ts"
import { componentGlob, hasGlob } from "./shell-glob.ts"

/** What makes a path worth asking about when a command writes or deletes it. */
export type PathClass =
  | "hermes file"
  | "hermes home"
  | "hermes program"
  | "system config"
  | "user-sensitive"
  | "account credentials"
  | "start-up"
  | "system"
  | "kernel"
  | "executed by tools"
  | "agent instructions"
  | "project permissions"
  | "project env/config"

/** The class of an absolute, normalized path; undefined for an ordinary file. */
export function pathClass(path: string, facts: CommandFacts): PathClass | undefined {
  const named = CLASSES.find(({ has }) => has(path, facts))?.name
  if (named !== undefined || !hasGlob(path)) return named
  return couldNameStartUp(path, facts) ? "user-sensitive" : undefined
}

/** True for a file that neither the project nor a temporary directory contains. The home may be a temporary directory. */
export function isOutsideProject(path: string, { workspaceRoot, userHome }: CommandFacts): boolean {
  if (isWithin(path, workspaceRoot)) return false
  return !OTHER_TEMPORARY.test(path) || (OTHER_TEMPORARY.test(userHome) && isWithin(path, userHome))
}

const OTHER_TEMPORARY = /^\/(?:tmp|var\/tmp|private\/tmp|var\/folders|private\/var\/folders|dev|proc|run)(?:\/|$)/u

/** True for a directory such as `.vscode`, in which other programs and agents look for files that they obey. */
export function isSteeringDirectory(path: string, { workspaceRoot }: CommandFacts): boolean {
  return STEERING_DIRECTORIES.has(foldedPath(posix.basename(path))) && !isWithin(workspaceRoot, path)
}

/** Most files in these are of another kind: workflows, settings of many programs. */
const MIXED_DIRECTORIES: ReadonlySet<string> = new Set([".git", ".github", ".config"])
const STEERING_DIRECTORIES: ReadonlySet<string> = new Set(
  [...EXECUTED_IN_WORKSPACE, ...AGENT_INSTRUCTIONS].flatMap((name) => {
    const [first = "", ...rest] = name.split("/")
    return rest.length > 0 && first.startsWith(".") && !MIXED_DIRECTORIES.has(first) ? [foldedPath(first)] : []
  }),
)

/** A pattern such as `~/.b?shrc` is judged as if it expanded to every file that it could name. */
function couldNameStartUp(path: string, { userHome }: CommandFacts): boolean {
  const parts = path.split("/")
  const matchers = parts.map(componentGlob)
  const start = userHome.split("/")
  if (!start.every((name, index) => matchers[index]?.(name) === true)) return false
  return [...ACCOUNT_START_UP, ...SENSITIVE_NAMES].some((target) =>
    target.split("/").every((name, offset) => {
      const index = start.length + offset
      // `~/*` matches no name that starts with a dot.
      const isHidden = offset === 0 && name.startsWith(".") && /^[*?[]/u.test(parts[index] ?? "")
      return !isHidden && matchers[index]?.(name.replaceAll("*", "x")) === true
    }),
  )
}

const SENSITIVE_NAMES = [".netrc", ".pgpass", ".pypirc", ".ssh/id_rsa", ".ssh/id_ed25519"]

const CLASSES: readonly { readonly name: PathClass; readonly has: (path: string, facts: CommandFacts) => boolean }[] = [
  { name: "hermes file", has: (path, facts) => isInHermes(path, facts) && HERMES_FILES.has(posix.basename(path)) },
  { name: "hermes home", has: isInHermes },
  { name: "hermes program", has: isInProgram },
  { name: "user-sensitive", has: (path, facts) => USER_SENSITIVE.test(belowHome(path, facts)) },
  {
    name: "start-up",
    has: (path, facts) =>
      (isWithin(path, facts.userHome) && START_UP.has(foldedPath(belowHome(path, facts)))) ||
      SYSTEM_START_UP.test(path),
  },
  {
    name: "account credentials",
    has: (path, facts) => {
      const below = belowHome(path, facts)
      return below !== path && ACCOUNT_CREDENTIALS.some((name) => isWithin(below, name))
    },
  },
  { name: "kernel", has: (path) => /^\/(?:proc|sys)\//u.test(path) && !path.startsWith("/proc/self/fd/") },
  {
    name: "system config",
    has: (path, facts) => SYSTEM_CONFIG.test(path) && !isOwn(path, facts),
  },
  {
    name: "system",
    has: (path, facts) => SYSTEM_TREES.test(path) && !TEMPORARY.test(path) && !isOwn(path, facts),
  },
  { name: "project permissions", has: (path) => PROJECT_PERMISSIONS.test(path) },
  {
    name: "executed by tools",
    has: (path) => EXECUTED_BY_TOOLS.test(path) || (executedByOthers(path) !== undefined && !SHELL_START_UP.test(path)),
  },
  { name: "agent instructions", has: (path, facts) => agentInstructions(path, facts.workspaceRoot) !== undefined },
  { name: "project env/config", has: (path) => PROJECT_CONFIG.test(posix.basename(path)) },
]

/** The home of root and workspaces in unusual directories are not the system's. */
function isOwn(path: string, { userHome, workspaceRoot }: CommandFacts): boolean {
  return [userHome, workspaceRoot].some((own) => own !== "/" && path !== own && isWithin(path, own))
}

const HERMES_FILES = new Set([".env", "config.yaml", "permissions.yaml", "auth.json"])

function isInHermes(path: string, facts: CommandFacts): boolean {
  return [facts.hermesHome, facts.hermesRoot, `${facts.userHome}/.hermes`].some(
    (home) => isWithin(path, home) && !(isWithin(facts.workspaceRoot, home) && isWithin(path, facts.workspaceRoot)),
  )
}

/** The user may also work on Hermes itself. */
function isInProgram(path: string, { programRoot, workspaceRoot }: CommandFacts): boolean {
  return programRoot !== undefined && isWithin(path, programRoot) && !isWithin(path, workspaceRoot)
}

/** The path below the user's home; a path elsewhere stays absolute and matches none of the patterns. */
function belowHome(path: string, { userHome }: CommandFacts): string {
  return isWithin(path, userHome) ? path.slice(userHome.length).replace(/^\/+/u, "") : path
}

const USER_SENSITIVE = /^\.(?:ssh(?:\/|$)|(?:bashrc|zshrc|profile|bash_profile|zprofile|netrc|pgpass|npmrc|pypirc)$)/u

const START_UP = createPathList(ACCOUNT_START_UP)
const SYSTEM_START_UP =
  /^\/(?:var\/spool\/(?:cron|at|anacron)|(?:usr\/)?lib\/systemd|usr\/local\/(?:s?bin|lib)|Library\/Launch)/u
const SYSTEM_CONFIG = /^\/(?:etc|private\/(?:etc|var(?!\/folders\/)|tmp|home))(?:\/|$)/u
const TEMPORARY = /^\/var\/(?:tmp|folders)\//u
const SYSTEM_TREES = /^\/(?:bin|sbin|lib\d*|boot|usr|var|root|System|Library)(?:\/|$)/u
/** Beside the files that are protected in a workspace: a repository as a whole, patterns in it, and the addresses of submodules. */
const EXECUTED_BY_TOOLS = /\/\.git(?:$|\/[^/]*[*?[])|\/\.gitmodules$/u
/** A shell executes them in the home, where they have a class of their own. */
const SHELL_START_UP = /\/\.(?:bashrc|bash_profile|profile|zshrc|zshenv)$/u
const PROJECT_PERMISSIONS = /\/\.hermes(?:$|\/(?:(?:permissions|config)\.yaml|(?:plugins|hooks)(?:\/|$)))/u
const PROJECT_CONFIG = /^(?:\.env(?:\..+)?|config\.yaml)$/u
