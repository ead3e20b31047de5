import { accessSync, constants, existsSync, lstatSync, readdirSync, readFileSync, readlinkSync } from "node:fs"
import { basename, dirname, join } from "node:path"

import { isRecord } from "../../base/json.ts"
import { realPath } from "../../base/real-path.ts"
import { errorCode, errorMessage } from "../../base/system-error.ts"
import { ACCOUNT_START_UP } from "../../config/protected-paths.ts"
import {
  isInReach,
  linkAbove,
  openDirectoriesAbove,
  renameAside,
  replaceFile,
  restoreLink,
  unusedName,
} from "./contained-changes.ts"
import type { Writable } from "./contained-changes.ts"
import { expandNames } from "./expand-names.ts"
import {
  executingKeys,
  executingSteps,
  gitConfigsOf,
  gitDirectoryOf,
  hasHooks,
  hooksIn,
  isRepositoryDirectory,
  plainSettings,
  rebaseSteps,
} from "./git-repositories.ts"
import { createNameLookup } from "./name-lookup.ts"
import type { NameLookup } from "./name-lookup.ts"
import { groupByTop, possibleGroups } from "./names-by-top.ts"
import type { ProjectSearch } from "./project-index.ts"
import { executedFiles, isChangedSince, isInstruction, linkedDirectories } from "./project-protection.ts"
import { submodulePaths } from "./submodule-paths.ts"

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

/** The path of a file and its state; null for a file that does not exist. */
export type StoredState = readonly [path: string, state: StoredFileState | null]

interface StoredFileState extends Omit<FileState, "linked"> {
  readonly linked?: { readonly bytes: string; readonly mode: number }
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

interface FileState {
  readonly identity: string
  /** The target of a link. */
  readonly target?: string
  /** The text of a git configuration or of the steps of a rebase. */
  readonly config?: string
  /** Of a file with several names: a mount protects only this one. */
  readonly linked?: { readonly bytes: Buffer; readonly mode: number }
}

function stored({ linked, ...state }: FileState): StoredFileState {
  return linked === undefined ? state : { ...state, linked: { ...linked, bytes: linked.bytes.toString("base64") } }
}

function storedState(entry: unknown): readonly (readonly [string, FileState | undefined])[] {
  if (!Array.isArray(entry) || typeof entry[0] !== "string") return []
  const [path, state]: readonly unknown[] = entry
  if (typeof path !== "string") return []
  if (!isRecord(state) || typeof state["identity"] !== "string") return [[path, undefined]]
  const { identity, target, config, linked } = state
  return [
    [
      path,
      {
        identity,
        ...(typeof target === "string" ? { target } : {}),
        ...(typeof config === "string" ? { config } : {}),
        ...(isRecord(linked) && typeof linked["bytes"] === "string" && typeof linked["mode"] === "number"
          ? { linked: { bytes: Buffer.from(linked["bytes"], "base64"), mode: linked["mode"] } }
          : {}),
      },
    ],
  ]
}

function statesOf(
  paths: readonly string[],
  mayExist: NameLookup,
): readonly (readonly [path: string, state: FileState | undefined])[] {
  return paths.map((path) => [path, mayExist(path) ? stateOf(path) : undefined])
}

/** `open` is called when a directory above it cannot be accessed. */
function stateOf(path: string, open?: (path: string) => void): FileState | undefined {
  try {
    const facts = lstatSync(path, { throwIfNoEntry: false })
    if (facts === undefined) return undefined
    // The time of the last change cannot be set by a program.
    const identity = facts.isDirectory() ? String(facts.ino) : `${facts.ino} ${facts.ctimeMs} ${facts.size}`
    if (facts.isSymbolicLink()) return { identity, target: readlinkSync(path) }
    if (!facts.isFile()) return { identity }
    return {
      identity,
      ...(isGitConfig(path) || isRebase(path) ? { config: readFileSync(path, "utf8") } : {}),
      ...(facts.nlink > 1 && facts.size <= MAX_LINKED_BYTES
        ? { linked: { bytes: readFileSync(path), mode: facts.mode & 0o777 } }
        : {}),
    }
  } catch (error) {
    if (errorCode(error) === "EACCES" && open !== undefined) {
      open(path)
      return stateOf(path)
    }
    // A part of the path is a file, or not accessible.
    return undefined
  }
}

const MAX_LINKED_BYTES = 1_000_000

/** Restores a file that was changed through another of its names. What was written is kept beside it. */
function restoreLinked(
  path: string,
  {
    before,
    now,
    writable,
  }: { readonly before: FileState | undefined; readonly now: FileState; readonly writable: Writable },
): string | undefined {
  const { linked } = before ?? {}
  if (linked === undefined || now.linked === undefined || now.linked.bytes.equals(linked.bytes)) return undefined
  const aside = unusedName(`${path}.from-sandbox`)
  if (!replaceFile(aside, now.linked.bytes, { mode: 0o600, writable })) return undefined
  replaceFile(path, linked.bytes, { mode: linked.mode, writable })
  return `While a command ran, ${path}, which other programs execute or obey, was changed through another name of the same file. Hermes restored it and kept the new text as ${basename(aside)}.`
}

const MAX_ENTRIES = 500

/**
 * Renames a new file with several names, also one in a new directory: once it is protected, a command could still change it through its
 * other name. Renaming is safe even if a process exchanges directories at the same moment, in contrast to writing a copy.
 */
function renameLinked(path: string, writable: Writable): readonly string[] {
  const pending = [path]
  const texts: string[] = []
  for (let count = 0; count < MAX_ENTRIES; count += 1) {
    const next = pending.pop()
    if (next === undefined) break
    const facts = lstatSync(next, { throwIfNoEntry: false })
    if (facts?.isDirectory() === true) pending.push(...readdirSync(next).map((name) => join(next, name)))
    if (facts?.isFile() !== true || facts.nlink < 2 || next.includes(".from-sandbox")) continue
    const aside = renameAside(next, writable)
    if (aside === undefined) continue
    texts.push(
      `A command created ${next}, which other programs execute or obey, as a second name of another file. Hermes renamed it to ${aside}.`,
    )
  }
  return texts
}

function isSame(before: FileState | undefined, now: FileState): boolean {
  return before?.identity === now.identity
}

function isGitConfig(path: string): boolean {
  return /^config(?:\.worktree)?$/u.test(basename(path))
}

function isRebase(path: string): boolean {
  return basename(path) === "git-rebase-todo"
}

/** Renames what appeared, so that nothing executes it and nothing is lost, and puts a link back. A file that was changed from outside stays. */
export function undo(path: string, before: FileState | undefined, writable: Writable): string | undefined {
  if (before !== undefined && before.target === undefined) return undefined
  let aside: string | undefined
  try {
    aside = renameAside(path, writable)
    if (aside === undefined) return undefined
    if (before?.target !== undefined) restoreLink(path, before.target, writable)
  } catch (error) {
    return `While a command ran, ${path} appeared, ${effectOf(path)}, and Hermes could not rename it: ${errorMessage(error)}. Check it.`
  }
  return `While a command ran, ${path} appeared, ${effectOf(path)}. Hermes renamed it to ${aside}; rename it back if you want it.`
}

function effectOf(path: string): string {
  return isInstruction(path) ? "whose text agents follow in later sessions" : "which other programs execute"
}

/** A git configuration that got new programs is restored; of other files the user is informed when they are new. */
function judge(
  path: string,
  before: FileState | undefined,
  { now, writable }: { readonly now: FileState; readonly writable: Writable },
): string | undefined {
  if (isRebase(path)) return judgeRebase(path, before, { now, writable })
  // Another directory took its name, together with the one around it.
  if (basename(path) === "hooks" && before?.target === undefined && hasHooks(join(dirname(path), "config")))
    return undo(path, undefined, writable)
  if (!isGitConfig(path)) {
    return before === undefined || before.target !== undefined
      ? `While a command ran, ${path} appeared, which other programs execute or obey. Check it before you use it.`
      : undefined
  }
  const added = addedKeys(before?.config ?? "", now.config ?? "")
  if (added.length === 0) return undefined
  if (before?.config === undefined) return hostileRepository(path, added, writable)
  replaceFile(path, before.config, { writable })
  return `While a command ran, ${path} got entries with which git starts programs (${added.join(", ")}). Hermes restored the file.`
}

/** New steps that run commands become comments: the user would run them outside the sandbox by continuing the rebase. */
function judgeRebase(
  path: string,
  before: FileState | undefined,
  { now, writable }: { readonly now: FileState; readonly writable: Writable },
): string | undefined {
  // Git creates no such link, and follows one.
  if (now.target !== undefined && before?.target === undefined) return undo(path, undefined, writable)
  const known = executingSteps(before?.config ?? "")
  const text = now.config ?? ""
  const added = executingSteps(text).filter((step) => !known.includes(step))
  if (added.length === 0) return undefined
  const lines = text.split("\n").map((line) => (added.includes(line.replace(/\r$/u, "")) ? `# ${line}` : line))
  replaceFile(path, lines.join("\n"), { writable })
  return `While a command ran, the rebase in ${dirname(path)} got steps that run commands (${added.join("; ")}). Hermes turned them into comments; check them before you continue the rebase.`
}

export function addedKeys(before: string, now: string): readonly string[] {
  const left = [...executingKeys(before)]
  return executingKeys(now).filter((key) => {
    const index = left.indexOf(key)
    if (index >= 0) left.splice(index, 1)
    return index < 0
  })
}

function hostileRepository(config: string, keys: readonly string[], writable: Writable): string {
  const what = `A command created the git repository in ${dirname(config)} with entries or hooks with which git starts programs (${keys.join(", ")}).`
  const renamed = neutralise(config, keys, writable)
  return renamed.length === 0
    ? `${what} Check ${config} before you use git there.`
    : `${what} Hermes renamed ${renamed.join(" and ")}; check the content and rename it back if you want it.`
}

/**
 * Renames what git would execute. The repositories of submodules and worktrees belong to another one, and git would not find their files
 * without the other settings.
 */
function neutralise(config: string, keys: readonly string[], writable: Writable): readonly string[] {
  const directory = dirname(config)
  const isPart = /\/\.git\/(?:modules|worktrees)\//u.test(`${directory}/`)
  const harmless = isPart
    ? ["hooks", "extensions.worktreeconfig", "core.worktree"]
    : ["hooks", "extensions.worktreeconfig"]
  const text = isPart ? textOf(config) : undefined
  const names = [
    ...(keys.includes("hooks") ? ["hooks"] : []),
    ...(keys.some((key) => !harmless.includes(key)) ? [basename(config)] : []),
  ]
  return names.flatMap((name) => {
    const path = join(directory, name)
    try {
      const aside = renameAside(path, writable)
      if (aside === undefined) return []
      if (path === config && text !== undefined) replaceFile(config, plainSettings(text), { writable, mode: 0o644 })
      return [`${path} to ${aside}`]
    } catch {
      // The message asks the user to check it.
      return []
    }
  })
}

function textOf(path: string): string {
  try {
    return readFileSync(path, "utf8")
  } catch {
    // It is gone, or cannot be read.
    return ""
  }
}

function isOfAnother(
  config: string,
  { directory, known }: { readonly directory: string; readonly known: ReadonlySet<string> },
): boolean {
  const real = realPath(config)
  if (real.startsWith(`${directory}/`)) return false
  return [...known].some((other) => other !== directory && gitConfigsOf(other).some((path) => realPath(path) === real))
}

interface KnownRepositories {
  readonly root: string
  /** Grows by the ones that are found. */
  readonly known: Set<string>
  readonly writable: Writable
  /** Set where earlier searches were not complete: a repository that nothing changed since then is none of the command's. */
  readonly changedSinceMs?: number | undefined
  /** Returns the submodules that an index of git lists. */
  readonly submodules?: (indexFile: string) => readonly string[]
}

/** Checks repositories that are not known yet and whose configuration starts programs or that have hooks. Adds what it finds to `known`. */
export function checkNewRepositories(
  { root, known, writable, changedSinceMs, submodules: listed = submodulePaths }: KnownRepositories,
  { found }: ProjectSearch,
): readonly string[] {
  const directories = [...found.keys()]
  const submodules = [...new Set([root, ...directories, ...known])].flatMap((directory) =>
    listed(join(gitDirectoryOf(directory), "index")).map((path) => join(directory, path)),
  )
  const unknown = [...new Set([...directories, ...submodules])].filter((directory) => !known.has(directory))
  return unknown.flatMap((directory) => {
    // A directory that is none may become one.
    if (!isRepositoryDirectory(directory)) return []
    known.add(directory)
    return changedSinceMs === undefined || isRepositoryChanged(directory, changedSinceMs)
      ? checkRepository(directory, { known, writable })
      : []
  })
}

function isRepositoryChanged(directory: string, sinceMs: number): boolean {
  return gitConfigsOf(directory).some(
    (config) => isChangedSince(config, sinceMs) || isChangedSince(join(dirname(config), "hooks"), sinceMs),
  )
}

/** Undoes new hooks in known repositories that the sandbox does not protect, because they are deep in the project. */
export function checkHooks(
  repositories: readonly string[],
  { sinceMs, writable }: { readonly sinceMs: number; readonly writable: Writable },
): readonly string[] {
  return repositories.flatMap((directory) => {
    const hooks = join(dirname(gitConfigsOf(directory)[0] ?? directory), "hooks")
    if (!isChangedSince(hooks, sinceMs)) return []
    return hooksIn(hooks)
      .map((name) => join(hooks, name))
      .filter((path) => isChangedSince(path, sinceMs))
      .flatMap((path) => undo(path, undefined, writable) ?? [])
  })
}

function checkRepository(
  directory: string,
  { known, writable }: Pick<KnownRepositories, "known" | "writable">,
): readonly string[] {
  return gitConfigsOf(directory).flatMap((config, index) => {
    // A git file of a command may name the repository of another project, and that of a new worktree names a known one.
    if (!isInReach(config, writable) || isOfAnother(config, { directory, known })) return []
    try {
      // Hooks are next to the configuration of the repository.
      const renamed = index === 0 ? renameLinked(join(dirname(config), "hooks"), writable) : []
      const text = existsSync(config) ? readFileSync(config, "utf8") : ""
      const keys = [...executingKeys(text), ...(index === 0 && hasHooks(config) ? ["hooks"] : [])]
      return keys.length === 0 ? renamed : [...renamed, hostileRepository(config, keys, writable)]
    } catch {
      // It cannot be read.
      return []
    }
  })
}
