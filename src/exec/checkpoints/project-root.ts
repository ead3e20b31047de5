import { existsSync, statSync } from "node:fs"
import type { Stats } from "node:fs"
import { dirname, join } from "node:path"

import { isInside } from "../../base/is-inside.ts"
import { realPath } from "../../base/real-path.ts"

/**
 * Returns the directory that a checkpoint for this path covers: the nearest one with a project marker such as `package.json`,
 * otherwise the path itself if it is a directory, otherwise its parent directory. The user's home directory and its ancestors
 * never count as a project.
 */
export function projectRoot(path: string, userHome: string): string {
  const start = nearestExistingDirectory(path)
  const excluded = withAncestors(realPath(userHome))
  for (let directory = start; !excluded.has(directory); directory = dirname(directory)) {
    if (hasMarker(directory)) return directory
  }
  return start
}

/** Returns why no checkpoints are taken of a directory, as a clause for the user; undefined when checkpoints are possible. */
export function unsupportedRootReason(
  root: string,
  { userHome, home }: { readonly userHome: string; readonly home: string },
): string | undefined {
  if (dirname(root) === root) return "the root of the file system is too large for a checkpoint"
  if (withAncestors(realPath(userHome)).has(root))
    return "the home directory is too large for a checkpoint; work in one of its subdirectories"
  if (isSystemDirectory(root) && !hasMarker(root)) return "checkpoints do not cover system directories"
  const realHome = realPath(home)
  if (root === realHome || isInside(root, join(realHome, "checkpoints")))
    return "checkpoints do not cover the Hermes home directory"
  return undefined
}

const MARKERS = (
  ".git .hg .svn package.json pyproject.toml setup.py requirements.txt Cargo.toml go.mod Makefile CMakeLists.txt pom.xml " +
  "build.gradle build.gradle.kts composer.json Gemfile mix.exs deno.json"
).split(" ")

function hasMarker(directory: string): boolean {
  return MARKERS.some((marker) => existsSync(join(directory, marker)))
}

/** A shell that has changed into `/usr` must not cause a copy of it. */
function isSystemDirectory(directory: string): boolean {
  const [, first = "", ...below] = directory.split("/")
  return SYSTEM_TREES.includes(first) || (below.length === 0 && PROJECT_PARENTS.includes(first))
}

const SYSTEM_TREES = "bin boot dev etc lib lib32 lib64 libx32 proc run sbin sys usr System Library".split(" ")
/** Subdirectories of these may be projects; the directories themselves are not. */
const PROJECT_PARENTS = "Applications home lost+found media mnt opt srv snap tmp Users var Volumes".split(" ")

/** Returns the nearest existing directory at or above a path, with links resolved, so that each workspace has exactly one name. */
export function nearestExistingDirectory(path: string): string {
  for (let candidate = path; ; candidate = dirname(candidate)) {
    const found = statIfPossible(candidate)
    if (found !== undefined) return found.isDirectory() ? realPath(candidate) : dirname(realPath(candidate))
    if (dirname(candidate) === candidate) return candidate
  }
}

export function statIfPossible(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false })
  } catch {
    // A link loop or a directory without permission: the tool that uses the path reports the error.
    return undefined
  }
}

function withAncestors(path: string): ReadonlySet<string> {
  const directories = new Set<string>(["/"])
  for (let directory = path; dirname(directory) !== directory; directory = dirname(directory))
    directories.add(directory)
  return directories
}
