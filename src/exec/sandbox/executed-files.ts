import { accessSync, constants } from "node:fs"
import { basename, join } from "node:path"

import { ACCOUNT_START_UP } from "../../config/protected-paths.ts"
import { linkAbove, openDirectoriesAbove } from "./contained-changes.ts"
import type { Writable } from "./contained-changes.ts"
import { expandNames } from "./expand-names.ts"
import { isSame, stateOf, stored, storedState } from "./file-state.ts"
import type { FileState, StoredState } from "./file-state.ts"
import { rebaseSteps } from "./git-repositories.ts"
import { createNameLookup } from "./name-lookup.ts"
import type { NameLookup } from "./name-lookup.ts"
import { groupByTop, possibleGroups } from "./names-by-top.ts"
import { judge, renameLinked, restoreLinked, undo } from "./planted-files.ts"
import { executedFiles, isChangedSince, isInstruction, linkedDirectories } from "./project-protection.ts"

/**
 * What other programs execute in a project, and in the home if commands can write it. The sandbox mounts the existing ones read-only, but a
 * mount cannot cover a name that does not exist, nor a link, and it is lost when a program outside replaces the file.
 */
export interface ExecutedFiles {
  /** Compares with the state before and undoes what would be executed without anybody looking. Returns what happened, for the user. */
  check(): readonly string[]
  /** The accepted state of a file in one of the directories; undefined when it was not checked. */
  accepted(directory: string, path: string): { readonly state: FileState | undefined } | undefined
  /** The remembered state as JSON data, for `restoreExecutedFiles`. */
  state(): readonly StoredState[]
}

export interface ExecutedFilesOptions {
  /** The directories of the project that commands can write. */
  readonly directories: readonly string[]
  /** What commands can write at all. Nothing else is changed. */
  readonly writable: Writable
  /** Files, and directories with everything in them, that the user opened for the command. */
  readonly opened: readonly string[]
  /** The command may change instructions for agents, because git updates the working tree. */
  readonly opensInstructions?: true | undefined
  /** What commands create stays, because the user has allowed everything. It is still reported. */
  readonly keepsNew?: true | undefined
  /** Set when commands can write the user's home. What the user made writable inside it is not checked. */
  readonly home?: { readonly path: string; readonly writable: readonly string[] } | undefined
}

/**
 * Remembers the state before a command. While a background process runs, it is the one that the check before accepted: the process may have
 * written something since then.
 */
export function rememberExecutedFiles(
  options: ExecutedFilesOptions,
  before: { readonly startedMs: number; readonly previous?: ExecutedFiles | undefined },
): ExecutedFiles {
  return comparedWith(options, before)
}

/** Continues with a state that another process remembered. */
export function restoreExecutedFiles(
  options: ExecutedFilesOptions,
  { state, startedMs }: { readonly state: readonly unknown[]; readonly startedMs: number },
): ExecutedFiles {
  return comparedWith(options, { stored: new Map(state.flatMap(storedState)), startedMs })
}

function comparedWith(
  { directories, writable, opened, opensInstructions, keepsNew, home: userHome }: ExecutedFilesOptions,
  { previous, stored: before, startedMs }: StateBefore,
): ExecutedFiles {
  const isOpened = (path: string): boolean =>
    (opensInstructions === true && isInstruction(path)) ||
    opened.some((root) => path === root || path.startsWith(`${root}/`))
  const inProject = (mayExist: NameLookup, inside = directories): readonly string[] =>
    [...executedFiles(inside, mayExist), ...linkedDirectories(inside, mayExist), ...inside.map(rebaseSteps)].filter(
      (path) => !isOpened(path),
    )
  const acceptPrevious = (lookup: NameLookup): void => {
    for (const directory of directories) {
      for (const path of [...inProject(lookup, [directory]), ...home]) {
        const accepted = previous?.accepted(directory, path)
        if (accepted !== undefined) known.set(path, accepted.state)
      }
    }
  }
  const inHome = (lookup: NameLookup): readonly string[] =>
    userHome === undefined ? [] : startUpFiles(userHome, lookup)
  const lookup = createNameLookup()
  const home = new Set(inHome(lookup))
  const project = before === undefined ? inProject(lookup).filter((path) => !home.has(path)) : []
  const known = new Map(before ?? statesOf([...project, ...home], lookup))
  if (previous !== undefined) acceptPrevious(lookup)
  return {
    check: () => {
      const open = (path: string): void => {
        openDirectoriesAbove(path, { writable, sinceMs: startedMs })
      }
      for (const directory of directories) if (!isReadable(directory)) open(join(directory, ".git"))
      const mayExist = createNameLookup()
      for (const path of inHome(mayExist)) home.add(path)
      return [...new Set([...known.keys(), ...home, ...inProject(mayExist)])].flatMap((path) => {
        if (!mayExist(path) || (!home.has(path) && isOpened(path))) return []
        const before = known.get(path)
        const now = stateOf(path, open)
        if (now === undefined || isSame(before, now)) return []
        known.set(path, now)
        const link = linkAbove(path, writable)
        // Through the link, the file may be anywhere.
        if (link !== undefined && isChangedSince(link, startedMs)) {
          if (keepsNew === true) return []
          const text = undo(link, known.get(link), writable)
          return text === undefined ? [] : [text]
        }
        if (basename(path) === ".git" && before === undefined && known.has(join(path, "config")))
          return undo(path, before, writable) ?? []
        const isUndone =
          home.has(path) || basename(path) === "commondir" || (keepsNew === undefined && isUndoneWhenNew(path))
        const texts = react(path, before, { now, isUndone, writable })
        known.set(path, stateOf(path))
        return texts
      })
    },
    accepted: (directory, path) =>
      (directories.includes(directory) && !isOpened(path)) || home.has(path) ? { state: known.get(path) } : undefined,
    state: () => Array.from(known, ([path, state]) => [path, state === undefined ? null : stored(state)]),
  }
}

function isReadable(directory: string): boolean {
  try {
    accessSync(directory, constants.R_OK | constants.X_OK)
    return true
  } catch {
    // It is gone, or not accessible.
    return false
  }
}

interface StateBefore {
  /** When the command started, in milliseconds since 1970. */
  readonly startedMs: number
  readonly previous?: ExecutedFiles | undefined
  /** What another process remembered. */
  readonly stored?: ReadonlyMap<string, FileState | undefined>
}

/** Without its own files git could not use a new repository; what it would execute there is judged by content. */
function isUndoneWhenNew(path: string): boolean {
  return !/\/\.git(?:\/|$)/u.test(path)
}

/** Handles a file that appeared or changed. Returns what happened. */
function react(
  path: string,
  before: FileState | undefined,
  { now, isUndone, writable }: { readonly now: FileState; readonly isUndone: boolean; readonly writable: Writable },
): readonly string[] {
  const renamed = before === undefined ? renameLinked(path, writable) : []
  if (renamed.length > 0 && stateOf(path) === undefined) return renamed
  const text =
    restoreLinked(path, { before, now, writable }) ??
    (isUndone ? undo(path, before, writable) : judge(path, before, { now, writable }))
  return text === undefined ? renamed : [...renamed, text]
}

const START_UP = groupByTop(ACCOUNT_START_UP)

function startUpFiles(
  { path, writable }: NonNullable<ExecutedFilesOptions["home"]>,
  lookup: NameLookup,
): readonly string[] {
  const opened = writable.filter((directory) => directory.startsWith(`${path}/`))
  const names = possibleGroups(START_UP, path, lookup).flatMap((group) => group.names)
  return expandNames(path, names)
    .map((name) => join(path, name))
    .filter((file) => !opened.some((directory) => file === directory || file.startsWith(`${directory}/`)))
}

function statesOf(
  paths: readonly string[],
  mayExist: NameLookup,
): readonly (readonly [path: string, state: FileState | undefined])[] {
  return paths.map((path) => [path, mayExist(path) ? stateOf(path) : undefined])
}
