import { realpathSync, statSync } from "node:fs"
import { basename, dirname, join } from "node:path"

export interface SandboxOptions {
  /** Path of bubblewrap, as returned by `probeSandbox`. */
  readonly program: string
  /**
   * The workspace root, temporary directories and the directories from the settings. A missing directory is left out, and so is one that
   * is reached through a link: a command may have created the link to get write access to its target.
   */
  readonly writable: readonly string[]
  /** Paths that stay read-only inside a writable directory: what Hermes itself runs and reads, and the user's git metadata. */
  readonly readOnly: readonly string[]
  /** Files and directories that appear empty, even inside a writable directory. */
  readonly hidden: readonly string[]
  /** Files and directories inside hidden ones that stay readable. */
  readonly shown: readonly string[]
  readonly network: boolean
  /** The command's working directory. */
  readonly cwd: string
  /** The command keeps its controlling terminal. For a command with its own pseudo-terminal. */
  readonly keepTerminal?: boolean
}

/**
 * Returns the bubblewrap command line that runs a command in the sandbox: the whole file system read-only except for the writable paths,
 * hidden paths empty, and a separate PID namespace that ends with the command. The user account and the environment stay the same.
 */
export function sandboxArguments(options: SandboxOptions): readonly string[] {
  const hidden = existing(options.hidden)
  const writable = existing(options.writable).filter(({ path }) => path !== "/" && options.writable.includes(path))
  const readOnly = existing(options.readOnly).filter(
    ({ path }) => innermostDepth(path, hidden) <= innermostDepth(path, writable),
  )
  // Later mounts cover earlier ones, so of nested paths the innermost decides, and for the same path the stricter kind.
  const mounts = [
    ...pinnedDirectories({ writable, readOnly, hidden }).map((path) => ({ path, words: ["--bind", path, path] })),
    ...writable.map(({ path }) => ({ path, words: ["--bind", path, path] })),
    ...readOnly.map(({ path }) => ({ path, words: ["--ro-bind", path, path] })),
    ...shownPaths(options.shown).map(({ path, real }) => ({ path, words: ["--ro-bind", real, path] })),
    ...hidden.map(({ path, isDirectory }) => ({
      path,
      words: isDirectory ? ["--tmpfs", path] : ["--ro-bind", "/dev/null", path],
    })),
  ].toSorted((one, other) => one.path.length - other.path.length)
  return [
    options.program,
    ...words("--ro-bind / / --dev /dev --proc /proc"),
    // Root may write kernel settings even without capabilities, and one of them (core_pattern) names a program that the kernel runs.
    ...KERNEL_SETTINGS.flatMap((path) => ["--ro-bind-try", path, path]),
    ...mounts.flatMap((mount) => mount.words),
    // Last, because mount points for writable directories inside must be created first.
    ...hidden.flatMap(({ path, isDirectory }) => (isDirectory ? ["--remount-ro", path] : [])),
    ...words("--unshare-user-try --unshare-pid --unshare-ipc --unshare-uts --unshare-cgroup-try"),
    ...(options.network ? [] : ["--unshare-net"]),
    ...words("--cap-drop ALL --die-with-parent"),
    ...(options.keepTerminal === true ? [] : ["--new-session"]),
    "--chdir",
    options.cwd,
    "--",
  ]
}

function words(text: string): readonly string[] {
  return text.split(" ")
}

/** bubblewrap itself covers the other dangerous parts of /proc. */
const KERNEL_SETTINGS = ["/proc/sys", "/proc/sysrq-trigger"]

interface ExistingPath {
  readonly path: string
  readonly isDirectory: boolean
}

/** Returns the paths that exist, outer before inner, with links resolved because a mount point cannot be a link. */
function existing(paths: readonly string[]): readonly ExistingPath[] {
  const found = new Map<string, ExistingPath>()
  for (const path of paths) {
    try {
      // Most paths do not exist, and this runs before every command: throwing for each of them would take most of the time.
      const facts = statSync(path, { throwIfNoEntry: false })
      if (facts === undefined) continue
      const real = realpathSync.native(path)
      found.set(real, { path: real, isDirectory: facts.isDirectory() })
    } catch {
      // Not accessible: nothing to hide and nothing to write.
    }
  }
  return [...found.values()].toSorted((one, other) => one.path.length - other.path.length)
}

/** Shows a link under its own name as the file it points to: the hidden directory does not contain the link itself. */
function shownPaths(paths: readonly string[]): readonly { readonly path: string; readonly real: string }[] {
  const parents = new Map<string, string>()
  return paths.flatMap((path) => {
    try {
      const parent = parents.get(dirname(path)) ?? realpathSync.native(dirname(path))
      parents.set(dirname(path), parent)
      return { path: join(parent, basename(path)), real: realpathSync.native(path) }
    } catch {
      // It does not exist, or is a dangling link.
      return []
    }
  })
}

/**
 * Returns the directories between a writable path and a covered path inside it. A command that renamed such a directory would find the
 * covered path uncovered the next time, because a mount belongs to the file and not to its name. A mount point cannot be renamed, so each
 * of these directories becomes one.
 */
function pinnedDirectories(paths: {
  readonly writable: readonly ExistingPath[]
  readonly readOnly: readonly ExistingPath[]
  readonly hidden: readonly ExistingPath[]
}): readonly string[] {
  const covered = [...paths.hidden, ...paths.readOnly]
  const isWritable = (path: string): boolean => innermostDepth(path, paths.writable) > innermostDepth(path, covered)
  const mounted = new Set([...covered, ...paths.writable].map(({ path }) => path))
  const pinned = new Set<string>()
  for (const { path } of covered) {
    for (let parent = dirname(path); isWritable(parent); parent = dirname(parent)) {
      if (!mounted.has(parent)) pinned.add(parent)
    }
  }
  return [...pinned]
}

/** Path length of the innermost of the given paths that contains a path; 0 when none does. */
function innermostDepth(path: string, containers: readonly ExistingPath[]): number {
  return Math.max(0, ...containers.map((container) => (isBelow(path, container.path) ? container.path.length : 0)))
}

function isBelow(path: string, directory: string): boolean {
  return path.startsWith(`${directory}/`)
}
