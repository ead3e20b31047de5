import { existsSync, realpathSync, statSync } from "node:fs"
import type { Stats } from "node:fs"
import { dirname, join } from "node:path"

/**
 * The directory that a checkpoint for this path covers: the nearest one with the mark of a project, else the path itself if it
 * is a directory, else the one it lies in. Neither the account's home nor anything above it counts as a project.
 */
export function projectRoot(path: string, userHome: string): string {
  const start = realDirectory(path)
  const above = tooHigh(realOrSame(userHome))
  for (let directory = start; !above.has(directory); directory = dirname(directory)) {
    if (hasMarker(directory)) return directory
  }
  return start
}

/** Why a directory gets no checkpoints, as a sentence for people; undefined when it may. */
export function whyNoCheckpoints(
  root: string,
  places: { readonly userHome: string; readonly home: string },
): string | undefined {
  if (dirname(root) === root) return "the root of the file system is too much for a checkpoint"
  if (tooHigh(realOrSame(places.userHome)).has(root))
    return "the home directory is too much for a checkpoint; work in a folder of it"
  if (isOfTheSystem(root) && !hasMarker(root)) return "directories of the system get no checkpoints"
  const home = realOrSame(places.home)
  if (root === home || root.startsWith(`${join(home, "checkpoints")}/`) || root === join(home, "checkpoints"))
    return "Hermes' own files get no checkpoints"
  return undefined
}

const MARKERS = (
  ".git .hg .svn package.json pyproject.toml setup.py requirements.txt Cargo.toml go.mod Makefile CMakeLists.txt pom.xml " +
  "build.gradle build.gradle.kts composer.json Gemfile mix.exs deno.json"
).split(" ")

function hasMarker(directory: string): boolean {
  return MARKERS.some((marker) => existsSync(join(directory, marker)))
}

/** A shell that went to look around in `/usr` must not make a copy of it. */
function isOfTheSystem(directory: string): boolean {
  const [, first = "", ...below] = directory.split("/")
  return PROGRAMS_AND_KERNEL.includes(first) || (below.length === 0 && COMMON_FOLDERS.includes(first))
}

const PROGRAMS_AND_KERNEL = "bin boot dev etc lib lib32 lib64 libx32 proc run sbin sys usr System Library".split(" ")
/** Projects may lie in these; they themselves are none. */
const COMMON_FOLDERS = "Applications home lost+found media mnt opt srv snap tmp Users var Volumes".split(" ")

/** The directory a path is or lies in: really existing and free of links, so that one workspace has one name. */
export function realDirectory(path: string): string {
  for (let candidate = path; ; candidate = dirname(candidate)) {
    const found = statOrNothing(candidate)
    if (found !== undefined) return found.isDirectory() ? realOrSame(candidate) : dirname(realOrSame(candidate))
    if (dirname(candidate) === candidate) return candidate
  }
}

/** A link that leads to itself, a directory that may not be entered: the tool that was given such a path says why. */
function statOrNothing(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false })
  } catch {
    return undefined
  }
}

function tooHigh(userHome: string): ReadonlySet<string> {
  const directories = new Set<string>(["/"])
  for (let directory = userHome; dirname(directory) !== directory; directory = dirname(directory))
    directories.add(directory)
  return directories
}

function realOrSame(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    return path
  }
}
