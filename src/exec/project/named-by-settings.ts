import { existsSync } from "node:fs"
import { dirname, join, resolve } from "node:path"

import { readRegularText } from "../../base/regular-file.ts"
import { calledByHooks } from "./called-by-hooks.ts"
import { targetFactsOf } from "./file-facts.ts"
import { executingSettings, gitConfigsOf, isGitDirectory } from "./git-repositories.ts"
import { showsNextChange } from "./time-of-change.ts"

/** How deep files with settings may include each other. */
const MAX_DEPTH = 4

/**
 * Returns the files and directories of a project that the settings of its repository name: hooks, files with more settings, programs of
 * filters, editors and so on. Git executes or obeys them, wherever they are. Some of them may not exist.
 */
export function namedBySettings(directory: string, config: string): readonly string[] {
  return namedIn(
    config,
    { directory, isProgram: (word) => isPath(word) || isFile(resolve(directory, word)) },
    MAX_DEPTH,
  )
}

/**
 * The same for the user's own settings, which git obeys in every repository. Their words are mostly names of commands (`log`, `store`), and
 * a file of a project may have such a name: one without a directory counts only if it looks like that of a script.
 */
export function namedByUser(directory: string, userHome: string): readonly string[] {
  const isProgram = (word: string): boolean =>
    isPath(word) || (/\w\.\w/u.test(word) && isFile(resolve(directory, word)))
  return userConfigs(userHome).flatMap((config) => namedIn(config, { directory, userHome, isProgram }, MAX_DEPTH))
}

function userConfigs(userHome: string): readonly string[] {
  return [join(userHome, ".gitconfig"), join(userHome, ".config", "git", "config")]
}

interface NamedOptions {
  readonly directory: string
  /** What `~` stands for. */
  readonly userHome?: string
  /** Whether a word of a command line may be a file of the project. */
  readonly isProgram: (word: string) => boolean
}

function namedIn(config: string, options: NamedOptions, depth: number): readonly string[] {
  if (depth === 0) return []
  const { directory, userHome = "~", isProgram } = options
  const isInside = (path: string): boolean =>
    path.startsWith(`${directory}/`) && !path.startsWith(`${directory}/.git/`) && path !== `${directory}/.git`
  const pathFrom = (base: string, value: string): string =>
    resolve(base, value.startsWith("~/") ? join(userHome, value.slice(2)) : value)
  return settingsIn(config).flatMap(({ key, value }) => {
    if (NAMES_NO_FILE.test(key)) return []
    if (key === "core.hookspath") return [pathFrom(directory, value)].filter(isInside)
    if (/^include(?:if)?\.path$/u.test(key)) {
      const included = pathFrom(dirname(config), value)
      return [...[included].filter(isInside), ...namedIn(included, options, depth - 1)]
    }
    return programWords(value)
      .filter(isProgram)
      .map((word) => pathFrom(directory, word))
      .filter((path) => isInside(path) && !isDirectory(path))
  })
}

type Settings = ReturnType<typeof executingSettings>

/** More files than the repositories have that are protected in a project. */
const MAX_REMEMBERED = 1000

/** Of this process: before and after each command, files that have not changed are not read again. The oldest one makes room. */
const remembered = new Map<string, { readonly version: string; readonly settings: Settings }>()

function settingsIn(config: string): Settings {
  // Before reading: a change in between is then detected the next time.
  const facts = targetFactsOf(config)
  if (facts?.isFile() !== true) return []
  // The time of the last change cannot be set by a program.
  const version = `${facts.dev}:${facts.ino}:${facts.size}:${facts.ctimeMs}`
  const known = remembered.get(config)
  if (known?.version === version) return known.settings
  const settings = executingSettings(readRegularText(config) ?? "")
  remembered.delete(config)
  if (showsNextChange(facts.ctimeMs)) remembered.set(config, { version, settings })
  for (const oldest of remembered.keys()) if (remembered.size > MAX_REMEMBERED) remembered.delete(oldest)
  return settings
}

/**
 * Whether git executes or obeys a file: the settings of a repository in the workspace, the user's own, or hooks name it or a directory around
 * it, or it is one of git's own files in a git directory, whatever the name of that directory is.
 */
export function isNamedByGit(
  path: string,
  { root, userHome }: { readonly root: string; readonly userHome: string },
): boolean {
  if (isOwnFileOfGit(path)) return true
  for (let directory = dirname(path); isInOrSame(directory, root); directory = dirname(directory)) {
    if (existsSync(join(directory, ".git"))) {
      const inRepository = gitConfigsOf(directory).flatMap((config) => namedBySettings(directory, config))
      const named = [...inRepository, ...namedByUser(directory, userHome)]
      if ([...named, ...calledByHooks(directory, named)].some((one) => isInOrSame(path, one))) return true
    }
    if (directory === dirname(directory)) break
  }
  return false
}

/**
 * Bare repositories have any name, and a `.git` file can lead git to any directory. What else is in such a directory are working trees and
 * notes of the user.
 */
function isOwnFileOfGit(path: string): boolean {
  for (let directory = dirname(path); directory !== dirname(directory); directory = dirname(directory)) {
    // Most paths have none of the names, and are not looked up.
    if (OWN_FILE.test(path.slice(directory.length)) && isGitDirectory(directory)) return true
  }
  return false
}

/** Below a git directory, on file systems that ignore case too. Patterns of ignored files start nothing. */
const OWN_FILE =
  /^\/(?:config(?:\.worktree)?$|(?:commondir|gitdir|index|packed-refs|shallow)$|info\/(?!exclude$)|(?:hooks|objects|refs|remotes|branches|modules|worktrees|rebase-merge|rebase-apply|sequencer)\/)/iu

function isInOrSame(path: string, directory: string): boolean {
  return path === directory || path.startsWith(directory.endsWith("/") ? directory : `${directory}/`)
}

/** These name hosts, or the directory that git works in. */
const NAMES_NO_FILE = /^(?:protocol|url|https?|extensions|remote)\.|^core\.worktree$/u

/** Git passes the value to a shell, at the top of the working tree. */
function programWords(value: string): readonly string[] {
  return value.split(/[\s;|&<>()"'`!]+/u).filter((word) => word !== "" && !word.startsWith("-"))
}

function isPath(word: string): boolean {
  return word.includes("/")
}

function isFile(path: string): boolean {
  return targetFactsOf(path)?.isFile() === true
}

function isDirectory(path: string): boolean {
  return targetFactsOf(path)?.isDirectory() === true
}
