import { realpathSync, statSync } from "node:fs"
import { basename, dirname, join } from "node:path"

export interface SandboxOptions {
  /** The bubblewrap program, as `probeSandbox` found it. */
  readonly program: string
  /**
   * The workspace root, temporary directories and what the person declared. Those that do not exist are left out, and so is one that is
   * reached over a link: it may have been made by a command, to be let in somewhere else.
   */
  readonly writable: readonly string[]
  /** Places that stay read-only also inside a writable one: what Hermes itself runs and reads, what belongs to the person's git. */
  readonly readOnly: readonly string[]
  /** Files and directories that are found empty, also inside a writable place. */
  readonly hidden: readonly string[]
  /** Files and directories inside hidden ones that can be read there. */
  readonly shown: readonly string[]
  readonly network: boolean
  /** Where the command starts. */
  readonly cwd: string
  /** The command keeps the terminal it was started in: for one with a terminal of its own. */
  readonly keepTerminal?: boolean
}

/**
 * The program and arguments that a command is started with to run in the sandbox: the whole system read-only, the writable places
 * writable, the hidden ones empty, processes of its own that end with it. The person's account and environment stay the same.
 */
export function sandboxArguments(options: SandboxOptions): readonly string[] {
  const hidden = existing(options.hidden)
  const writable = existing(options.writable).filter(({ path }) => path !== "/" && options.writable.includes(path))
  const readOnly = existing(options.readOnly).filter(({ path }) => innermost(path, hidden) <= innermost(path, writable))
  // Later mounts cover earlier ones, so the innermost place decides; of the same place the stricter wish.
  const mounts = [
    ...pinned({ writable, readOnly, hidden }).map((path) => ({ place: { path }, words: ["--bind", path, path] })),
    ...writable.map((place) => ({ place, words: ["--bind", place.path, place.path] })),
    ...readOnly.map((place) => ({ place, words: ["--ro-bind", place.path, place.path] })),
    ...namedPlaces(options.shown).map(({ path, real }) => ({ place: { path }, words: ["--ro-bind", real, path] })),
    ...hidden.map((place) => ({
      place,
      words: place.isDirectory ? ["--tmpfs", place.path] : ["--ro-bind", "/dev/null", place.path],
    })),
  ].toSorted((one, other) => one.place.path.length - other.place.path.length)
  return [
    options.program,
    ...words("--ro-bind / / --dev /dev --proc /proc"),
    // Root may write kernel settings even without any capability, and one of them names a program that the kernel runs.
    ...KERNEL_SETTINGS.flatMap((path) => ["--ro-bind-try", path, path]),
    ...mounts.flatMap((mount) => mount.words),
    // Last, because the place of a writable directory inside must be made first.
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

/** bubblewrap itself covers the rest of what is dangerous there. */
const KERNEL_SETTINGS = ["/proc/sys", "/proc/sysrq-trigger"]

interface Place {
  readonly path: string
  readonly isDirectory: boolean
}

/** Outer places before the ones inside them; links are followed, because a mount point cannot be a link. */
function existing(paths: readonly string[]): readonly Place[] {
  const found = new Map<string, Place>()
  for (const path of paths) {
    try {
      // Most places do not exist, and this is asked before every command: an error for each of them would cost most of the time.
      const facts = statSync(path, { throwIfNoEntry: false })
      if (facts === undefined) continue
      const real = realpathSync.native(path)
      found.set(real, { path: real, isDirectory: facts.isDirectory() })
    } catch {
      // It cannot be reached: nothing to hide, nowhere to write.
    }
  }
  return [...found.values()].toSorted((one, other) => one.path.length - other.path.length)
}

/** A link is shown as what it leads to, under its own name: in a hidden directory there is no link. */
function namedPlaces(paths: readonly string[]): readonly { readonly path: string; readonly real: string }[] {
  const parents = new Map<string, string>()
  return paths.flatMap((path) => {
    try {
      const parent = parents.get(dirname(path)) ?? realpathSync.native(dirname(path))
      parents.set(dirname(path), parent)
      return { path: join(parent, basename(path)), real: realpathSync.native(path) }
    } catch {
      // It has gone, or leads nowhere.
      return []
    }
  })
}

/**
 * The directories between a writable place and what is covered in it. A cover sits on the thing itself: whoever could rename a directory
 * above it would find it without its cover the next time. What something is mounted on cannot be renamed.
 */
function pinned(places: {
  readonly writable: readonly Place[]
  readonly readOnly: readonly Place[]
  readonly hidden: readonly Place[]
}): readonly string[] {
  const covered = [...places.hidden, ...places.readOnly]
  const isWritable = (path: string): boolean => innermost(path, places.writable) > innermost(path, covered)
  const taken = new Set([...covered, ...places.writable].map(({ path }) => path))
  const found = new Set<string>()
  for (const { path } of covered) {
    for (let above = dirname(path); isWritable(above); above = dirname(above)) if (!taken.has(above)) found.add(above)
  }
  return [...found]
}

/** How far in the innermost of the places around a path is; 0 where none is. What is read-only stays hidden in a hidden place. */
function innermost(path: string, places: readonly Place[]): number {
  return Math.max(0, ...places.map((place) => (isBelow(path, place.path) ? place.path.length : 0)))
}

function isBelow(path: string, place: string): boolean {
  return path.startsWith(`${place}/`)
}
