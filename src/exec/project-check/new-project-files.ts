import { basename, dirname, join } from "node:path"
import { setImmediate as nextTick } from "node:timers/promises"

import { linkAbove } from "../project/contained-changes.ts"
import { undo } from "./planted-files.ts"
import type { ExecutedFilesOptions } from "./executed-files.ts"
import { factsOf } from "../project/file-facts.ts"
import { directoryFiles } from "./file-state.ts"
import type { ProjectSearch } from "../project/project-index.ts"
import { existingFiles, isChangedSince, isUpdatedByGit } from "../project/project-protection.ts"
import type { ChangedFile, WorkingTreeChanges } from "./working-tree-changes.ts"

/** What was known of a project before a command. */
export interface ProjectBefore {
  readonly root: string
  /** Undefined when another process searched it. */
  readonly search?: ProjectSearch | undefined
  /** Milliseconds since 1970. */
  readonly startedMs: number
  /** What checks of this session have undone. Searches found it before. Grows. */
  readonly undone?: Set<string>
  /** Judges what changed while git updated the working tree. */
  readonly tree: WorkingTreeChanges
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
  { directories, writable, opened, treeLines, keepsNew }: Omit<ExecutedFilesOptions, "home">,
): Promise<readonly string[]> {
  const remembered = new Set(directories)
  const isOpened = (path: string): boolean => opened.some((root) => path === root || path.startsWith(`${root}/`))
  const mayClone = treeLines?.some((line) => /\bclone\b/u.test(line)) === true
  const clones = new Map<string, string[]>()
  const updated: ChangedFile[] = []
  const unknown = [...found.keys()].filter((directory) => !remembered.has(directory))
  const texts: string[] = []
  for (let start = 0; start < unknown.length; start += DIRECTORIES_AT_ONCE) {
    for (const path of existingFiles(unknown.slice(start, start + DIRECTORIES_AT_ONCE))) texts.push(...textsFor(path))
    await nextTick()
  }
  if (treeLines !== undefined) updated.push(...goneFiles(found, before, remembered))
  texts.push(...before.tree.judge(updated))
  return [...shortened(texts), ...Array.from(clones, ([clone, names]) => cloned(clone, names))]

  function textsFor(path: string): readonly string[] {
    if (isOpened(path) || !isFromCommand(path, before) || isEmptyDirectory(path)) return []
    const files = changedFilesAt(path, before.startedMs)
    if (files.length > 0 && files.every(isOpened)) return []
    const clone = mayClone ? newRepositoryOf(path, before) : undefined
    if (treeLines !== undefined && isUpdatedByGit(path)) {
      const kind = existedBefore(path, before) ? "changed" : "new"
      updated.push(...files.map((file) => ({ path: file, kind, clone }) as const))
      return []
    }
    if (clone !== undefined) clones.set(clone, [...(clones.get(clone) ?? []), path.slice(clone.length + 1)])
    if (clone !== undefined) return []
    if (existedBefore(path, before)) {
      const names = files.length === 0 ? path : files.filter((file) => !isOpened(file)).join(", ")
      return [`While a program in the sandbox ran, ${names} changed. Check it before you use it.`]
    }
    if (keepsNew === true) return [`While a program in the sandbox ran, ${path} appeared. Check it before you use it.`]
    const link = linkAbove(path, writable)
    // What is behind a new link may be the user's.
    const appeared = link !== undefined && isChangedSince(link, before.startedMs) ? link : path
    const text = undo(appeared, undefined, writable)
    before.undone?.add(path)
    return text === undefined ? [] : [text]
  }
}

/** Files that git may have deleted. */
function goneFiles(
  found: ProjectSearch["found"],
  { search }: ProjectBefore,
  remembered: ReadonlySet<string>,
): readonly ChangedFile[] {
  return Array.from(search?.found ?? [], ([directory, names]) =>
    remembered.has(directory) ? [] : names.map((name) => ({ path: join(directory, name), kind: "gone" as const })),
  )
    .flat()
    .filter(({ path }) => isUpdatedByGit(path) && found.get(dirname(path))?.includes(basename(path)) !== true)
}

/** Without the files that Hermes has renamed. */
function isEmptyDirectory(path: string): boolean {
  return filesBelow(path)?.size === 0
}

/** A file in the directory was changed without a new name. */
function isChangedInside(path: string, sinceMs: number): boolean {
  return factsOf(path)?.isDirectory() === true && changedFilesAt(path, sinceMs).some((file) => file !== path)
}

/** The file itself, or those in the directory that changed. */
function changedFilesAt(path: string, sinceMs: number): readonly string[] {
  const files = filesBelow(path)
  if (files === undefined) return [path]
  return [...files.keys()].map((name) => join(path, name)).filter((file) => isChangedSince(file, sinceMs))
}

function filesBelow(path: string): ReturnType<typeof directoryFiles> {
  try {
    return directoryFiles(path)
  } catch {
    // A part of it cannot be read.
    return undefined
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
  if (isChangedSince(path, startedMs) || isChangedInside(path, startedMs)) return true
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
