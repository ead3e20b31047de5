import { basename, dirname, join } from "node:path"
import { setImmediate as nextTick } from "node:timers/promises"

import { undo } from "./planted-files.ts"
import type { ExecutedFilesOptions } from "./executed-files.ts"
import type { ProjectSearch } from "./project-index.ts"
import { existingFiles, factsOf, isChangedSince, isInstruction } from "./project-protection.ts"

/** What was known of a project before a command. */
export interface ProjectBefore {
  readonly root: string
  /** Undefined when another process searched it. */
  readonly search?: ProjectSearch | undefined
  /** Milliseconds since 1970. */
  readonly startedMs: number
  /** What checks of this session have undone. Searches found it before. Grows. */
  readonly undone?: Set<string>
}

const MAX_MESSAGES = 6
const DIRECTORIES_AT_ONCE = 50

/**
 * Undoes what a command created in directories of which no state was remembered: they had nothing to protect before, or are deep in the
 * project. A file that was there before and has changed is reported. One that the user created meanwhile stays: it was last changed before
 * the command started. Returns what happened, for the user.
 */
export async function checkNewFiles(
  { found }: ProjectSearch,
  before: ProjectBefore,
  { directories, writable, opened, opensInstructions, keepsNew }: Omit<ExecutedFilesOptions, "home">,
): Promise<readonly string[]> {
  const remembered = new Set(directories)
  const isOpened = (path: string): boolean =>
    (opensInstructions === true && isInstruction(path)) ||
    opened.some((root) => path === root || path.startsWith(`${root}/`))
  const clones = new Map<string, string[]>()
  const unknown = [...found.keys()].filter((directory) => !remembered.has(directory))
  const texts: string[] = []
  for (let start = 0; start < unknown.length; start += DIRECTORIES_AT_ONCE) {
    for (const path of existingFiles(unknown.slice(start, start + DIRECTORIES_AT_ONCE))) texts.push(...textsFor(path))
    await nextTick()
  }
  return [...shortened(texts), ...Array.from(clones, ([clone, names]) => cloned(clone, names))]

  function textsFor(path: string): readonly string[] {
    if (isOpened(path) || !isFromCommand(path, before)) return []
    const clone = opensInstructions === true ? newRepositoryOf(path, before) : undefined
    if (clone !== undefined) clones.set(clone, [...(clones.get(clone) ?? []), path.slice(clone.length + 1)])
    if (clone !== undefined) return []
    if (existedBefore(path, before)) return [`While a command ran, ${path} changed. Check it before you use it.`]
    if (keepsNew === true) return [`While a command ran, ${path} appeared. Check it before you use it.`]
    const text = undo(path, undefined, writable)
    before.undone?.add(path)
    return text === undefined ? [] : [text]
  }
}

/** The file, or the directory around it that gives it its meaning, had its name before. */
function existedBefore(path: string, { search, undone }: ProjectBefore): boolean {
  if (search === undefined || undone?.has(path) === true) return false
  for (let name = path; dirname(name) !== name; name = dirname(name)) {
    if (search.found.get(dirname(name))?.includes(basename(name)) === true) return true
  }
  return false
}

/** It was changed or got its name after the command started, or a new directory around it did. */
function isFromCommand(path: string, before: ProjectBefore): boolean {
  const { root, search, startedMs } = before
  if (isChangedSince(path, startedMs)) return true
  // A directory that was outside the limits of the search may have had the file all the time.
  if (search === undefined || !search.isComplete) return false
  for (let directory = dirname(path); directory.startsWith(`${root}/`); directory = dirname(directory)) {
    if (!search.has(directory) && isChangedSince(directory, startedMs)) return true
  }
  return false
}

/** A repository around the file that git created while it updated a working tree. Git takes a renamed file for a deleted one. */
function newRepositoryOf(path: string, { root, search }: ProjectBefore): string | undefined {
  for (let directory = dirname(path); directory.startsWith(`${root}/`); directory = dirname(directory)) {
    const isNew = search !== undefined && search.isComplete && !search.has(directory)
    if (isNew && factsOf(join(directory, ".git")) !== undefined) return directory
  }
  return undefined
}

function cloned(clone: string, names: readonly string[]): string {
  return `The new repository in ${clone} has files that other programs execute: ${names.join(", ")}. Check them before you open it in another program.`
}

function shortened(texts: readonly string[]): readonly string[] {
  if (texts.length <= MAX_MESSAGES) return texts
  const rest = texts.length - MAX_MESSAGES
  return [
    ...texts.slice(0, MAX_MESSAGES),
    `${rest} more such files appeared and were handled the same way; the renamed ones end in .from-sandbox.`,
  ]
}
