import { basename, dirname, join } from "node:path"

import { realPath } from "../../base/real-path.ts"
import { isInReach, linkAbove } from "../project/contained-changes.ts"
import type { Writable } from "../project/contained-changes.ts"
import { factsOf } from "../project/file-facts.ts"
import { executingKeys, gitConfigsOf, gitDirectoryOf, hasHooks, hooksIn } from "../project/git-repositories.ts"
import { isChangedSince } from "../project/project-protection.ts"
import { hostileRepository, unreadableSettings } from "./hostile-repository.ts"
import { undo } from "./planted-files.ts"
import { isUnreadable, settingsIn } from "./repository-settings.ts"
import { READ_BY_GIT, renameSpecialFiles } from "./special-files.ts"

export interface ChangedRepositoryOptions {
  readonly root: string
  readonly known: ReadonlySet<string>
  /** Those of the known repositories that were not there before the session. */
  readonly created: ReadonlySet<string>
  /** The files whose state was remembered when the check began. They are compared with it instead. */
  readonly remembered: ReadonlySet<string>
  /** Files, and directories with everything in them, that the user opened for the command. */
  readonly opened: readonly string[]
  readonly writable: Writable
  /** When the command started, in milliseconds since 1970. */
  readonly startedMs: number
  /** What the user is notified of only once. Grows. */
  readonly reported: Set<string>
}

/**
 * Checks the settings and hooks of a known repository that changed since the command started and whose earlier state is not known: there are
 * too many repositories to remember all of them, a process wrote there all the time, or the repository was found after the command began.
 */
export function checkChangedRepository(directory: string, options: ChangedRepositoryOptions): readonly string[] {
  const { writable, startedMs } = options
  const changed = changedParts(directory, options)
  if (changed.length === 0) return []
  const link = linkAbove(join(directory, ".git"), writable)
  // What is behind a new link may be the user's.
  if (link !== undefined && isChangedSince(link, startedMs))
    return changed.some((parts) => programsIn(parts).length > 0) ? [undo(link, undefined, writable) ?? []].flat() : []
  // A named pipe has no text that could be judged.
  const special = renameSpecialFiles(gitDirectoryOf(directory), READ_BY_GIT, options)
  return [...special, ...changed.flatMap((parts) => judgeParts(directory, parts, options))]
}

/** What changed and is to be judged: the settings, the hooks next to them, or both. */
interface ChangedParts {
  readonly config: string
  readonly areSettings: boolean
  readonly areHooks: boolean
}

function changedParts(directory: string, options: ChangedRepositoryOptions): readonly ChangedParts[] {
  const { remembered, opened, startedMs, writable } = options
  const isJudged = (path: string): boolean =>
    !remembered.has(path) && !opened.some((open) => path === open || path.startsWith(`${open}/`))
  const isOther = isReplaced(directory, options)
  // Git reads through links.
  const isChanged = (paths: readonly string[]): boolean =>
    isOther || paths.some((path) => [path, realPath(path)].some((one) => isChangedSince(one, startedMs)))
  return gitConfigsOf(directory).flatMap((config) => {
    const hooks = hooksBeside(config)
    const areSettings = isJudged(config) && isChanged([config])
    // Hooks are next to the configuration of the repository.
    const areHooks = basename(config) === "config" && isJudged(hooks) && isChanged(withHooks(hooks))
    return (areSettings || areHooks) && isInReach(config, writable) ? [{ config, areSettings, areHooks }] : []
  })
}

function hooksBeside(config: string): string {
  return join(dirname(config), "hooks")
}

function withHooks(hooks: string): readonly string[] {
  return [hooks, ...hooksIn(hooks).map((name) => join(hooks, name))]
}

/** Whether the repository may be another one now, whose files can be older: a directory, or what leads git to it, was renamed or replaced. */
function isReplaced(directory: string, { root, created, startedMs }: ChangedRepositoryOptions): boolean {
  const isChanged = (path: string): boolean => isChangedSince(path, startedMs)
  const git = join(directory, ".git")
  if (isChanged(join(gitDirectoryOf(directory), "commondir"))) return true
  if (created.has(directory)) return isChanged(git) || directoriesBelow(root, directory).some(isChanged)
  // Git itself changes its directory, and a new file in the directory around it changes that one.
  return isChanged(git) && (isChanged(directory) || factsOf(git)?.isDirectory() !== true)
}

/** The directory, and those around it up to the root, without the root. */
function directoriesBelow(root: string, directory: string): readonly string[] {
  return directory.startsWith(`${root}/`) ? [directory, ...directoriesBelow(root, dirname(directory))] : []
}

function judgeParts(directory: string, parts: ChangedParts, options: ChangedRepositoryOptions): readonly string[] {
  const { config } = parts
  const programs = programsIn(parts)
  if (programs.length === 0) return []
  if (isOfUser(config, directory, options)) return reportState(config, programs, options)
  const keys = programs.filter((key) => key !== UNREADABLE)
  return [
    ...(keys.length === programs.length ? [] : [unreadableSettings(config, options.writable)]),
    ...(keys.length === 0 ? [] : [hostileRepository(config, keys, options.writable)]),
  ]
}

function programsIn({ config, areSettings, areHooks }: ChangedParts): readonly string[] {
  return [
    ...(areSettings && isUnreadable(config) ? [UNREADABLE] : []),
    ...(areSettings ? executingKeys(settingsIn(config) ?? "") : []),
    ...(areHooks && hasHooks(config) ? ["hooks"] : []),
  ]
}

const UNREADABLE = "settings that cannot be read"

/** A new working tree may belong to a repository that was there before the session. */
function isOfUser(config: string, directory: string, { known, created }: ChangedRepositoryOptions): boolean {
  const real = realPath(config)
  if (created.has(directory) && real.startsWith(`${directory}/`)) return false
  return [...known].some((other) => !created.has(other) && gitConfigsOf(other).some((path) => realPath(path) === real))
}

/** Once for each state: git changes the directory of a repository all the time, and its programs may be the user's. */
function reportState(
  config: string,
  keys: readonly string[],
  { reported }: ChangedRepositoryOptions,
): readonly string[] {
  const files = [config, ...withHooks(hooksBeside(config))].map((path) => {
    const { ino, ctimeMs } = factsOf(path) ?? {}
    return `${path} ${ino} ${ctimeMs}`
  })
  const state = files.join("\n")
  if (reported.has(state)) return []
  reported.add(state)
  return [
    `While a program in the sandbox ran, the git repository in ${dirname(config)} changed. It has entries or hooks with which git starts programs (${keys.join(", ")}), and Hermes does not know whether they were there before. If they are not yours, remove them before you use git there.`,
  ]
}
