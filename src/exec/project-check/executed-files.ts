import { accessSync, constants } from "node:fs"
import { basename, dirname, join, relative } from "node:path"

import { ACCOUNT_START_UP } from "../../config/protected-paths.ts"
import { linkAbove, openDirectoriesAbove } from "../project/contained-changes.ts"
import type { Writable } from "../project/contained-changes.ts"
import { expandNames } from "../project/expand-names.ts"
import { changedFiles, isGitConfig, isRebase, isSame, stateOf, stored, storedState } from "./file-state.ts"
import type { FileState, KnownContents, StoredState } from "./file-state.ts"
import { isInBareRepository, isOfNewWorktree, rebaseSteps } from "../project/git-repositories.ts"
import { createNameLookup } from "../project/name-lookup.ts"
import type { NameLookup } from "../project/name-lookup.ts"
import { groupByTop, possibleGroups } from "../project/names-by-top.ts"
import { judge, renameLinked, restoreLinked, undo } from "./planted-files.ts"
import { executedFiles, isChangedSince, isUpdatedByGit, linkedDirectories } from "../project/project-protection.ts"
import type { ChangedFile, WorkingTreeChanges } from "./working-tree-changes.ts"

/**
 * What other programs execute in a project, and in the home if commands can write it. The sandbox mounts the existing ones read-only, but a
 * mount cannot cover a name that does not exist, nor a link, and it is lost when a program outside replaces the file.
 */
export interface ExecutedFiles {
  readonly directories: readonly string[]
  /**
   * Compares with the state before and undoes what would be executed without anybody looking. `tree` judges what changed while git updated
   * the working tree. Returns what happened, for the user.
   */
  check(tree?: WorkingTreeChanges): readonly string[]
  /** A file tool has written these files, with the user's consent or by a rule. */
  remember(paths: readonly string[]): void
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
  /** The lines of a command with which git updates the working tree. It may change instructions for agents and settings of tools. */
  readonly treeLines?: readonly string[] | undefined
  /** The lines of commands that only run git and may change settings of the repository. Grows. */
  readonly gitLines?: readonly string[] | undefined
  /** What commands create stays, because the user has allowed everything. It is still reported. */
  readonly keepsNew?: true | undefined
  /** Set when commands can write the user's home. What the user made writable inside it is not checked. */
  readonly home?: { readonly path: string; readonly writable: readonly string[] } | undefined
  /** Where the user's own settings of git are, which may name files of the project. */
  readonly gitHome?: string | undefined
}

/**
 * Remembers the state before a command. While a background process runs, it is the one that the check before accepted: the process may have
 * written something since then.
 */
export function rememberExecutedFiles(
  options: ExecutedFilesOptions,
  before: Omit<StateBefore, "stored">,
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
  { directories, writable, opened, treeLines, gitLines = [], keepsNew, home: userHome, gitHome }: ExecutedFilesOptions,
  { previous, stored: before, startedMs, contents }: StateBefore,
): ExecutedFiles {
  /** Those of the opened files that a file tool has written since. */
  const written = new Set<string>()
  const isOpened = (path: string): boolean =>
    !written.has(path) && opened.some((root) => path === root || path.startsWith(`${root}/`))
  const inProject = (mayExist: NameLookup, inside = directories): readonly string[] =>
    [
      ...executedFiles(inside, mayExist, { userHome: gitHome }),
      ...linkedDirectories(inside, mayExist),
      ...inside.flatMap(rebaseSteps),
    ].filter((path) => !isOpened(path))
  const stateNow = (path: string, open?: (path: string) => void): FileState | undefined =>
    stateOf(path, { open, known: contents, lists: !home.has(path) })
  const acceptPrevious = (lookup: NameLookup): void => {
    for (const directory of directories) {
      for (const path of [...inProject(lookup, [directory]), ...home]) {
        const accepted = previous?.accepted(directory, path)
        if (accepted !== undefined) known.set(path, accepted.state)
        // A process created it after the last check.
        else if (previous?.directories.includes(directory) === false && isChangedSince(path, startedMs))
          known.set(path, undefined)
      }
    }
  }
  const inHome = (lookup: NameLookup): readonly string[] =>
    userHome === undefined ? [] : startUpFiles(userHome, lookup)
  const lookup = createNameLookup()
  const home = new Set(inHome(lookup))
  const project = before === undefined ? inProject(lookup).filter((path) => !home.has(path)) : []
  const statesBefore = [...project, ...home].map((path) => [path, lookup(path) ? stateNow(path) : undefined] as const)
  const known = new Map(before ?? statesBefore)
  if (previous !== undefined) acceptPrevious(lookup)
  /** A process may have created a renamed file again. */
  const forgetRenamed = ({ path, kind }: ChangedFile): void => {
    if (kind !== "new") return
    const top = topOf(path, known)
    const [state, left] = [known.get(top), stateNow(top)]
    if (state?.files === undefined) {
      if (left?.identity !== state?.identity) known.set(top, undefined)
      return
    }
    const name = relative(top, path)
    if (left?.files?.[name] !== state.files[name]) known.set(top, { ...state, files: withFile(state.files, name, {}) })
  }
  return {
    directories,
    check: (tree) => {
      const open = (path: string): void => {
        openDirectoriesAbove(path, { writable, sinceMs: startedMs })
      }
      for (const directory of directories) if (!isReadable(directory)) open(join(directory, ".git"))
      const mayExist = createNameLookup()
      for (const path of inHome(mayExist)) home.add(path)
      const changed: string[] = []
      const updated: ChangedFile[] = []
      const texts = [...new Set([...known.keys(), ...home, ...inProject(mayExist)])].flatMap((path) => {
        if (!home.has(path) && isOpened(path)) return []
        const before = known.get(path)
        const now = mayExist(path) ? stateNow(path, open) : undefined
        const isOfGit = treeLines !== undefined && tree !== undefined && isUpdatedByGit(path)
        if (isOfGit && now === undefined && before !== undefined) {
          known.set(path, undefined)
          updated.push(...changesAt(path, before, now))
        }
        if (now === undefined || isSame(before, now)) return []
        known.set(path, now)
        const inside = changedFiles(before, now)
        const unopened = inside.filter((name) => !isOpened(join(path, name)))
        const isSameDirectory = now.files !== undefined && before?.identity === now.identity
        // Only what the user approved is new in it.
        if (inside.length > 0 && unopened.length === 0 && (before === undefined || isSameDirectory)) return []
        const link = linkAbove(path, writable)
        // Through the link, the file may be anywhere.
        if (link !== undefined && isChangedSince(link, startedMs)) {
          if (keepsNew === true) return []
          const text = undo(link, known.get(link), writable)
          return text === undefined ? [] : [text]
        }
        if (isOfGit) {
          updated.push(...changesAt(path, before, now).filter(({ path: file }) => !isOpened(file)))
          return []
        }
        if (isSameDirectory) {
          changed.push(...unopened.map((name) => join(path, name)))
          return []
        }
        if (basename(path) === ".git" && before === undefined && known.has(join(path, "config")))
          return undo(path, before, writable) ?? []
        if (before === undefined && isOfNewWorktree(path)) return []
        const isUndone =
          home.has(path) || basename(path) === "commondir" || (keepsNew === undefined && isUndoneWhenNew(path))
        const texts = react(path, before, { now, isUndone, writable, gitLines })
        const left = stateNow(path)
        // A process may have created a renamed file again.
        const isRenamed = isUndone && before === undefined && left?.identity !== now.identity
        known.set(path, isRenamed ? undefined : left)
        if (texts.length === 0 && before !== undefined && !isJudgedByText(path)) changed.push(path)
        return texts
      })
      const judged = tree?.judge(updated) ?? []
      for (const change of updated) forgetRenamed(change)
      return [...texts, ...judged, ...changedText(changed)]
    },
    remember: (paths) => {
      for (const path of paths) {
        written.add(path)
        const top = topOf(path, known)
        const state = stateNow(known.has(top) ? top : path)
        if (state?.files === undefined) known.set(known.has(top) ? top : path, state)
        else known.set(top, { ...state, files: withFile(known.get(top)?.files, relative(top, path), state.files) })
      }
    },
    accepted: (directory, path) =>
      (directories.includes(directory) && !isOpened(path)) || home.has(path) ? { state: known.get(path) } : undefined,
    state: () => Array.from(known, ([path, state]) => [path, state === undefined ? null : stored(state)]),
  }
}

/** The files that changed: the file itself, or those in a directory. */
function changesAt(path: string, before: FileState | undefined, now: FileState | undefined): readonly ChangedFile[] {
  const isDirectory = [before, now].every((state) => state === undefined || state.files !== undefined)
  if (!isDirectory) return [{ path, kind: kindOf(before, now), content: before?.content }]
  return changedFiles(before, now).map((name) => ({
    path: join(path, name),
    kind: kindOf(before?.files?.[name], now?.files?.[name]),
  }))
}

function kindOf(before: unknown, now: unknown): ChangedFile["kind"] {
  if (now === undefined) return "gone"
  return before === undefined ? "new" : "changed"
}

/** Others of them may have been changed by other programs. */
function withFile(known: FileState["files"] = {}, name: string, now: NonNullable<FileState["files"]>) {
  const { [name]: _before, ...others } = known
  return now[name] === undefined ? others : { ...others, [name]: now[name] }
}

/** The remembered file or directory that contains a file. */
function topOf(file: string, known: ReadonlyMap<string, unknown>): string {
  let path = file
  while (!known.has(path) && dirname(path) !== path) path = dirname(path)
  return path
}

/** Git itself keeps these. What they make it execute is compared instead. */
function isJudgedByText(path: string): boolean {
  return isGitConfig(path) || isRebase(path)
}

const MAX_NAMES = 8

/** A mount is lost when a program outside replaces the file, so that the command may have changed it as well as the user. */
function changedText(paths: readonly string[]): readonly string[] {
  if (paths.length === 0) return []
  const rest = paths.length > MAX_NAMES ? ` and ${paths.length - MAX_NAMES} more` : ""
  const names = paths.slice(0, MAX_NAMES).join(", ")
  const [them, were] = paths.length === 1 ? ["it", "this file"] : ["them", "these files"]
  return [
    `While a program in the sandbox ran, ${names}${rest} changed. Other programs execute or agents follow ${were}. If you did not change ${them} yourself, check ${them} before you go on.`,
  ]
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
  /** What is known of the files from earlier checks. Grows. */
  readonly contents?: KnownContents | undefined
}

/** Without its own files git could not use a new repository; what it would execute there is judged by content. */
function isUndoneWhenNew(path: string): boolean {
  return !/\/\.git(?:\/|$)/u.test(path) && !isInBareRepository(path)
}

/** Handles a file that appeared or changed. Returns what happened. */
function react(
  path: string,
  before: FileState | undefined,
  {
    now,
    isUndone,
    writable,
    gitLines,
  }: {
    readonly now: FileState
    readonly isUndone: boolean
    readonly writable: Writable
    readonly gitLines: readonly string[]
  },
): readonly string[] {
  const renamed = before === undefined ? renameLinked(path, writable) : []
  if (renamed.length > 0 && stateOf(path) === undefined) return renamed
  const text =
    restoreLinked(path, { before, now, writable }) ??
    (isUndone ? undo(path, before, writable) : judge(path, before, { now, writable, gitLines }))
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
