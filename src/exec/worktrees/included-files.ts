import {
  constants,
  cpSync,
  copyFileSync,
  lstatSync,
  mkdirSync,
  readlinkSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
} from "node:fs"
import { dirname, isAbsolute, join, normalize, relative, sep } from "node:path"

import { isInside } from "../../base/is-inside.ts"
import { readRegularFile, readRegularText } from "../../base/regular-file.ts"
import { errorMessage } from "../../base/system-error.ts"
import { WORKTREES_DIRECTORY } from "./worktree.ts"

interface WorktreePaths {
  /** The checkout to copy from. */
  readonly root: string
  /** The worktree. */
  readonly path: string
}

export interface CopiedFiles {
  /** Relative paths that are now in the worktree. */
  readonly included: readonly string[]
  /** Messages for the user about names that could not be copied. */
  readonly warnings: readonly string[]
}

/**
 * Copies the files and links the directories that `.worktreeinclude` lists. Skips what the worktree already has. Never reads outside
 * the checkout or writes outside the worktree, not even through links.
 */
export function copyIncludedFiles(paths: WorktreePaths): CopiedFiles {
  const included: string[] = []
  const warnings: string[] = []
  for (const name of namesIn(paths.root)) {
    try {
      const outcome = copyIncluded(name, paths)
      if (outcome === "copied") included.push(name)
      else if (outcome !== "skipped") warnings.push(`.worktreeinclude: ${name} ${outcome}`)
    } catch (error) {
      warnings.push(`.worktreeinclude: ${name} could not be copied: ${errorMessage(error)}`)
    }
  }
  return { included, warnings }
}

/** Returns listed files that are identical in checkout and worktree: copied ones, and those that git tracks. */
export function unmodifiedIncludedFiles(paths: WorktreePaths): readonly string[] {
  return namesIn(paths.root).filter((name) => isUnmodified(name, paths))
}

/** Removes links, never their targets. */
export function removeIncludedFiles(paths: WorktreePaths, names: readonly string[]): void {
  for (const name of names) rmSync(join(paths.path, name), { recursive: true, force: true })
}

const MAX_NAMES = 1000

function namesIn(root: string): readonly string[] {
  const text = readRegularText(join(root, ".worktreeinclude")) ?? ""
  const names = text
    .replace(/^\uFEFF/u, "")
    .split(/\r?\n/u)
    .map((line) => line.trim())
    .filter((line) => line !== "" && !line.startsWith("#"))
    .map((line) => normalize(line).replace(/(?!^)\/+$/u, ""))
  return [...new Set(names)].slice(0, MAX_NAMES)
}

/** Returns any outcome other than "copied" and "skipped" as the end of a warning. */
function copyIncluded(name: string, { root, path }: WorktreePaths): "copied" | "skipped" | (string & {}) {
  if (isAbsolute(name) || !isInside(join(root, name), root)) return "is not inside the repository"
  if (isGitInternal(name)) return "belongs to git, not to the project"
  const target = join(path, name)
  if (lstatSync(target, { throwIfNoEntry: false }) !== undefined) return "skipped"
  const found = statSync(join(root, name), { throwIfNoEntry: false })
  // A shared `.worktreeinclude` may list files that not every checkout has.
  if (found === undefined) return "skipped"
  const source = realpathSync(join(root, name))
  if (!isInside(source, root)) return "is a link to a target outside the repository"
  if (isGitInternal(relative(root, source))) return "belongs to git, not to the project"
  if (!isInside(nearestRealPath(dirname(target)), path)) return "would be written outside the worktree"
  mkdirSync(dirname(target), { recursive: true })
  if (found.isFile()) copyFileSync(source, target, constants.COPYFILE_EXCL)
  else if (found.isDirectory()) linkDirectory(source, target)
  else return "is neither a file nor a directory"
  return "copied"
}

function isGitInternal(name: string): boolean {
  const [first] = name.split(sep)
  return first === ".git" || first === WORKTREES_DIRECTORY
}

function linkDirectory(source: string, target: string): void {
  try {
    symlinkSync(source, target, "dir")
  } catch {
    // The file system does not support symbolic links.
    cpSync(source, target, { recursive: true, verbatimSymlinks: true })
  }
}

const bytesOf = (path: string): Buffer => readRegularFile(path, { maxBytes: Number.MAX_SAFE_INTEGER }).bytes

/** Treats a copied directory as modified: comparing it would cost more than keeping it. */
function isUnmodified(name: string, { root, path }: WorktreePaths): boolean {
  const target = join(path, name)
  const found = lstatSync(target, { throwIfNoEntry: false })
  try {
    if (found?.isSymbolicLink() === true) return readlinkSync(target) === realpathSync(join(root, name))
    if (found?.isFile() !== true) return false
    const source = join(root, name)
    return statSync(source).size === found.size && bytesOf(source).equals(bytesOf(target))
  } catch {
    // One of the files is unreadable or missing.
    return false
  }
}

/** Throws for a dangling link, so that nothing is written through it. */
function nearestRealPath(directory: string): string {
  for (let ancestor = directory; ; ancestor = dirname(ancestor)) {
    if (lstatSync(ancestor, { throwIfNoEntry: false }) !== undefined) return realpathSync(ancestor)
    if (dirname(ancestor) === ancestor) return ancestor
  }
}
