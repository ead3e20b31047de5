import { basename, dirname, join } from "node:path"

import { OPEN_FILE_DESCRIPTOR, openFilePrefix } from "../open-file-prefix.ts"
import type { PrivateDirectory } from "./private-caches.ts"
import { createResolver, existing, existingWritable, isBelow } from "./resolved-paths.ts"
import type { ExistingPath, Resolver } from "./resolved-paths.ts"

/** What confines one command. */
export interface CommandWalls {
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
  /** Directories with another one mounted over them, which commands may write. */
  readonly replaced?: readonly PrivateDirectory[]
  readonly network: boolean
  /** The command's working directory. */
  readonly cwd: string
  /** The command keeps its controlling terminal. For a command with its own pseudo-terminal. */
  readonly keepTerminal?: boolean
}

export interface SandboxOptions extends CommandWalls {
  /** Path of bubblewrap, as returned by `probeSandbox`. */
  readonly program: string
  /** Command line that starts bubblewrap in another network. */
  readonly networkPrefix?: readonly string[]
  /** A file with the seccomp program that the command runs under. */
  readonly seccompFile?: string | undefined
}

/**
 * Returns the bubblewrap command line that runs a command in the sandbox: the whole file system read-only except for the writable paths,
 * hidden paths empty, and a separate PID namespace that ends with the command. The user account and the environment stay the same.
 */
export function sandboxArguments(options: SandboxOptions): readonly string[] {
  const resolve = createResolver()
  const writable = existingWritable(options.writable, resolve)
  const shown = shownPaths(options.shown, resolve)
  const hidden = withoutCovered(existing(options.hidden, resolve), [...writable, ...shown, ...(options.replaced ?? [])])
  const opened = [...writable, ...(options.replaced ?? [])]
  const readOnly = existing(options.readOnly, resolve).filter(
    ({ path }) =>
      innermostDepth(path, hidden) <= innermostDepth(path, writable) &&
      // Everything else is read-only anyway.
      opened.some((one) => one.path === path || isBelow(path, one.path)),
  )
  // Later mounts cover earlier ones, so of nested paths the innermost decides, and for the same path the stricter kind.
  const mounts = [
    ...pinnedDirectories({ writable, readOnly, hidden }).map((path) => ({ path, words: ["--bind", path, path] })),
    ...writable.map(({ path }) => ({ path, words: ["--bind", path, path] })),
    ...(options.replaced ?? []).map(({ path, source }) => ({ path, words: ["--bind", source, path] })),
    ...readOnly.map(({ path }) => ({ path, words: ["--ro-bind", path, path] })),
    ...shown.map(({ path, real }) => ({ path, words: ["--ro-bind", real, path] })),
    ...hidden.map(({ path, isDirectory }) => ({
      path,
      // Without capabilities nobody can write such a directory. Mounting it again as read-only would take four times as long.
      words: isDirectory ? ["--perms", "0555", "--tmpfs", path] : ["--ro-bind", "/dev/null", path],
    })),
  ].toSorted((one, other) => one.path.length - other.path.length)
  const { seccompFile } = options
  return [
    ...(seccompFile === undefined ? [] : openFilePrefix(seccompFile)),
    ...(options.networkPrefix ?? []),
    options.program,
    ...(seccompFile === undefined ? [] : ["--seccomp", String(OPEN_FILE_DESCRIPTOR)]),
    ...words("--ro-bind / / --dev /dev --proc /proc"),
    // Root may write kernel settings even without capabilities, and one of them (core_pattern) names a program that the kernel runs.
    ...KERNEL_SETTINGS.flatMap((path) => ["--ro-bind-try", path, path]),
    ...mounts.flatMap((mount) => mount.words),
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

/** Shows a link under its own name as the file it points to: the hidden directory does not contain the link itself. */
function shownPaths(
  paths: readonly string[],
  resolve: Resolver,
): readonly { readonly path: string; readonly real: string }[] {
  return paths.flatMap((path) => {
    const real = resolve(path)
    const parent = real === undefined ? undefined : resolve(dirname(path))
    return real === undefined || parent === undefined
      ? []
      : { path: join(parent.path, basename(path)), real: real.path }
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
  const isWritable = (path: string): boolean => {
    const depth = innermostDepth(path, paths.writable)
    return depth > 0 && depth > innermostDepth(path, covered)
  }
  const mounted = new Set([...covered, ...paths.writable].map(({ path }) => path))
  const pinned = new Set<string>()
  for (const { path } of covered) {
    for (let parent = dirname(path); isWritable(parent); parent = dirname(parent)) {
      if (!mounted.has(parent)) pinned.add(parent)
    }
  }
  return [...pinned]
}

/** Leaves out hidden paths inside other hidden ones, except in directories that are mounted again there: each mount takes time. */
function withoutCovered(
  hidden: readonly ExistingPath[],
  mountedAgain: readonly Pick<ExistingPath, "path">[],
): readonly ExistingPath[] {
  return hidden.filter(({ path }) => {
    const depth = innermostDepth(path, hidden)
    return depth === 0 || depth < innermostDepth(path, mountedAgain) || mountedAgain.some((one) => one.path === path)
  })
}

/** Path length of the innermost of the given paths that contains a path; 0 when none does. */
function innermostDepth(path: string, containers: readonly Pick<ExistingPath, "path">[]): number {
  let depth = 0
  for (const container of containers) {
    if (container.path.length > depth && isBelow(path, container.path)) depth = container.path.length
  }
  return depth
}
