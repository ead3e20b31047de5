import {
  constants,
  cpSync,
  copyFileSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
} from "node:fs"
import { dirname, isAbsolute, join, normalize, relative, sep } from "node:path"

import { errorMessage } from "../../base/system-error.ts"
import { WORKTREES } from "./worktree.ts"

interface Places {
  readonly root: string
  readonly path: string
}

export interface Inclusion {
  /** Relative paths that are now in the worktree. */
  readonly included: readonly string[]
  /** For the person: what was named and could not be taken over, and why. */
  readonly warnings: readonly string[]
}

/**
 * Takes over what `.worktreeinclude` names and git does not keep: files are copied, directories linked. What the worktree has already
 * stays. Nothing is read outside the checkout or written outside the worktree, also where links lead there.
 */
export function takeOverIncluded(places: Places): Inclusion {
  const included: string[] = []
  const warnings: string[] = []
  for (const name of namesIn(places.root)) {
    try {
      const outcome = takeOver(name, places)
      if (outcome === "taken over") included.push(name)
      else if (outcome !== "left alone") warnings.push(`.worktreeinclude: ${name} ${outcome}`)
    } catch (error) {
      warnings.push(`.worktreeinclude: ${name} could not be taken over: ${errorMessage(error)}`)
    }
  }
  return { included, warnings }
}

/** What the worktree has just as `.worktreeinclude` names it: what was taken over, and what git keeps in both places. */
export function includedNames(places: Places): readonly string[] {
  return namesIn(places.root).filter((name) => isIncluded(name, places))
}

/** The links themselves go, never what they lead to. */
export function removeIncluded(places: Places, names: readonly string[]): void {
  for (const name of names) rmSync(join(places.path, name), { recursive: true, force: true })
}

const MAX_NAMES = 1000

function namesIn(root: string): readonly string[] {
  let text: string
  try {
    text = readFileSync(join(root, ".worktreeinclude"), "utf8")
  } catch {
    // There is none, or it is a directory: nothing is named.
    return []
  }
  const names = text
    .replace(/^\uFEFF/u, "")
    .split(/\r?\n/u)
    .map((line) => line.trim())
    .filter((line) => line !== "" && !line.startsWith("#"))
    .map((line) => normalize(line).replace(/(?!^)\/+$/u, ""))
  return [...new Set(names)].slice(0, MAX_NAMES)
}

/** What became of it; every other answer is a reason against it. */
function takeOver(name: string, { root, path }: Places): "taken over" | "left alone" | (string & {}) {
  if (isAbsolute(name) || !isWithin(join(root, name), root)) return "is not inside the repository"
  if (isGits(name)) return "belongs to git, not to the project"
  const target = join(path, name)
  if (lstatSync(target, { throwIfNoEntry: false }) !== undefined) return "left alone"
  const found = statSync(join(root, name), { throwIfNoEntry: false })
  // A file that not everybody has is named all the same.
  if (found === undefined) return "left alone"
  const source = realpathSync(join(root, name))
  if (!isWithin(source, root)) return "leads out of the repository"
  if (isGits(relative(root, source))) return "belongs to git, not to the project"
  if (!isWithin(realAncestor(dirname(target)), path)) return "would be written outside the worktree"
  mkdirSync(dirname(target), { recursive: true })
  if (found.isFile()) copyFileSync(source, target, constants.COPYFILE_EXCL)
  else if (found.isDirectory()) link(source, target)
  else return "is neither a file nor a directory"
  return "taken over"
}

function isGits(name: string): boolean {
  const [first] = name.split(sep)
  return first === ".git" || first === WORKTREES
}

function link(source: string, target: string): void {
  try {
    symlinkSync(source, target, "dir")
  } catch {
    // This file system knows no links.
    cpSync(source, target, { recursive: true, verbatimSymlinks: true })
  }
}

/** A copied directory counts as somebody's work: comparing it would take longer than keeping it costs. */
function isIncluded(name: string, { root, path }: Places): boolean {
  const target = join(path, name)
  const found = lstatSync(target, { throwIfNoEntry: false })
  try {
    if (found?.isSymbolicLink() === true) return readlinkSync(target) === realpathSync(join(root, name))
    if (found?.isFile() !== true) return false
    const source = join(root, name)
    return statSync(source).size === found.size && readFileSync(source).equals(readFileSync(target))
  } catch {
    // One of them cannot be read, or is gone: then nothing is known about it.
    return false
  }
}

function realAncestor(directory: string): string {
  for (let place = directory; ; place = dirname(place)) {
    if (lstatSync(place, { throwIfNoEntry: false }) !== undefined) return realpathSync(place)
    if (dirname(place) === place) return place
  }
}

function isWithin(path: string, directory: string): boolean {
  const way = relative(directory, path)
  return way !== ".." && !way.startsWith(`..${sep}`) && !isAbsolute(way)
}
