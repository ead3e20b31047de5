import { dirname, join } from "node:path"

import { undo } from "./executed-files.ts"
import type { ExecutedFilesOptions } from "./executed-files.ts"
import { isComplete } from "./git-repositories.ts"
import type { ProjectSearch } from "./git-repositories.ts"
import { existingFiles, factsOf, isInstruction } from "./project-protection.ts"

/** What was known of a project before a command. */
export interface ProjectBefore {
  readonly root: string
  /** Undefined when another process searched it. */
  readonly search?: ProjectSearch | undefined
  /** Milliseconds since 1970. */
  readonly startedMs: number
}

/** Time stamps of files come from a clock that advances with the ticks of the kernel. */
const CLOCK_TICK_MS = 20
const MAX_MESSAGES = 6

/**
 * Undoes what a command created below directories that had nothing to protect before, so that no state of them was remembered. A file that
 * the user created meanwhile stays: it was last changed before the command started. Returns what happened, for the user.
 */
export function checkNewFiles(
  { found }: ProjectSearch,
  before: ProjectBefore,
  { directories, opened, opensInstructions, keepsNew }: Omit<ExecutedFilesOptions, "home">,
): readonly string[] {
  const remembered = new Set(directories)
  const isOpened = (path: string): boolean =>
    (opensInstructions === true && isInstruction(path)) ||
    opened.some((root) => path === root || path.startsWith(`${root}/`))
  const clones = new Map<string, string[]>()
  const texts = existingFiles(found.filter((directory) => !remembered.has(directory))).flatMap((path) => {
    if (isOpened(path) || !isFromCommand(path, before)) return []
    const clone = opensInstructions === true ? newRepositoryOf(path, before) : undefined
    if (clone !== undefined) clones.set(clone, [...(clones.get(clone) ?? []), path.slice(clone.length + 1)])
    if (clone !== undefined) return []
    if (keepsNew === true) return `While a command ran, ${path} appeared. Check it before you use it.`
    return undo(path, undefined) ?? []
  })
  return [...shortened(texts), ...Array.from(clones, ([clone, names]) => cloned(clone, names))]
}

/** It was changed or got its name after the command started, or a new directory around it did. */
function isFromCommand(path: string, before: ProjectBefore): boolean {
  const { root, search } = before
  if (isChanged(path, before)) return true
  // A directory that was outside the limits of the search may have had the file all the time.
  if (search === undefined || !isComplete(search)) return false
  for (let directory = dirname(path); directory.startsWith(`${root}/`); directory = dirname(directory)) {
    if (!search.visited.has(directory) && isChanged(directory, before)) return true
  }
  return false
}

function isChanged(path: string, { startedMs }: ProjectBefore): boolean {
  const facts = factsOf(path)
  // The time of the last change cannot be set by a program.
  return facts !== undefined && facts.ctimeMs >= startedMs - CLOCK_TICK_MS
}

/** A repository around the file that git created while it updated a working tree. Git takes a renamed file for a deleted one. */
function newRepositoryOf(path: string, { root, search }: ProjectBefore): string | undefined {
  for (let directory = dirname(path); directory.startsWith(`${root}/`); directory = dirname(directory)) {
    const isNew = search !== undefined && isComplete(search) && !search.visited.has(directory)
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
