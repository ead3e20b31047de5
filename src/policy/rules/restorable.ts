import { isWithin } from "../file-floor.ts"

export interface RestorablePaths {
  readonly workspaceRoot: string
  /** Temporary directories and caches: what is in them is expendable. */
  readonly expendable: readonly string[]
  /** Whether a snapshot is taken before each command. */
  readonly hasCheckpoints: boolean
  /** Whether snapshots leave out files and directories of this name. */
  readonly isExcluded: (name: string) => boolean
}

/**
 * Whether a deleted path can be restored: it is in the snapshot that was taken before the command, or a build creates it again. The
 * workspace root itself contains the user's repository, which no snapshot has.
 */
export function isRestorable(path: string, paths: RestorablePaths): boolean {
  const { workspaceRoot } = paths
  if (!isWithin(path, workspaceRoot)) {
    return paths.expendable.some((directory) => path !== directory && isWithin(path, directory))
  }
  if (path === workspaceRoot) return false
  const names = path.slice(workspaceRoot.length).split("/")
  const rebuilt = names.findIndex((name) => REBUILDABLE.has(name))
  const isOwn = (name: string): boolean => name === ".git" || paths.isExcluded(name)
  if (REBUILDABLE_FILE.test(path) && !names.includes(".git")) return true
  if (rebuilt !== -1) return !names.slice(0, rebuilt).some((name) => name === ".git")
  return paths.hasCheckpoints && !names.some(isOwn)
}

/** Files that a compiler or an editor creates again. */
const REBUILDABLE_FILE = /(?:\.(?:py[co]|o|obj|class|swp|tsbuildinfo)|\/\.DS_Store|~)$/u

/** Directories that a build, an installer or a test run creates again. */
const REBUILDABLE: ReadonlySet<string> = new Set(
  (
    "node_modules dist build target out .next .nuxt .turbo .parcel-cache __pycache__ .cache .pytest_cache .mypy_cache .ruff_cache " +
    ".tox .nox coverage .nyc_output .venv venv .gradle .eggs htmlcov tmp temp .tmp"
  ).split(" "),
)
