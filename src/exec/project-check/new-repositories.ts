import { basename, dirname, join, resolve } from "node:path"
import { setImmediate as nextTick } from "node:timers/promises"

import { realPath } from "../../base/real-path.ts"
import { errorMessage } from "../../base/system-error.ts"
import { checkChangedRepository } from "./changed-repositories.ts"
import type { ChangedRepositoryOptions } from "./changed-repositories.ts"
import { isInReach, linkAbove } from "../project/contained-changes.ts"
import type { Writable } from "../project/contained-changes.ts"
import { factsOf } from "../project/file-facts.ts"
import {
  executingKeys,
  gitConfigsOf,
  gitDirectoryOf,
  hasHooks,
  hooksIn,
  isRepositoryDirectory,
  leadingToUndecodable,
  worktreesOf,
} from "../project/git-repositories.ts"
import { hostileRepository, unreadableSettings } from "./hostile-repository.ts"
import { once } from "./notice-text.ts"
import { renameLinked, undo } from "./planted-files.ts"
import type { ProjectSearch } from "../project/project-index.ts"
import { isChangedSince } from "../project/project-protection.ts"
import { isUnreadable, settingsIn } from "./repository-settings.ts"
import { READ_BY_GIT, renameSpecialFiles } from "./special-files.ts"
import type { SubmoduleLookup } from "../project/submodule-paths.ts"
import { renameUndecodablePath } from "./undecodable-names.ts"

/** With all submodules of submodules. */
const MAX_REPOSITORIES = 20_000
const REPOSITORIES_AT_ONCE = 50

export interface KnownRepositories extends ChangedRepositoryOptions {
  /** Grows by the ones that are found. */
  readonly known: Set<string>
  /** Grows, too. */
  readonly created: Set<string>
  /** False where earlier searches were not complete: a repository that nothing changed since the command started is none of the command's. */
  readonly wasComplete: boolean
  readonly submodules: SubmoduleLookup
}

/** The repositories that a search found, and their submodules. */
export async function findKnownRepositories(
  { found }: ProjectSearch,
  {
    root,
    submodules,
    signal,
  }: Pick<KnownRepositories, "root" | "submodules"> & { readonly signal?: AbortSignal | undefined },
): Promise<Set<string>> {
  const directories = new Set([root, ...found.keys()])
  const known = new Set<string>()
  // Grows while it is read.
  for (const directory of directories) {
    if (!isRepositoryDirectory(directory)) continue
    known.add(directory)
    for (const tree of [directory, ...worktreesOf(directory)]) {
      const { paths } = await submodules(tree, signal)
      addPaths(directories, paths, tree)
    }
  }
  return known
}

/** A path may lead out of the working tree: git does not check those in an index. */
function addPaths(directories: Set<string>, paths: readonly string[], tree: string): void {
  for (const path of paths) {
    if (directories.size >= MAX_REPOSITORIES) return
    directories.add(resolve(tree, path))
  }
}

/**
 * Checks repositories whose configuration starts programs or that have hooks: those that a search found, and the submodules that their
 * indexes list, however deep. Adds what it finds to `known`. Of known ones it checks what changed and was not remembered.
 */
export async function checkNewRepositories(
  options: KnownRepositories,
  { found }: ProjectSearch,
): Promise<readonly string[]> {
  const { root, known, reported } = options
  const directories = new Set([root, ...found.keys(), ...known])
  const texts: string[] = []
  let count = 0
  // Grows while it is read.
  for (const directory of directories) {
    if (++count % REPOSITORIES_AT_ONCE === 0) await nextTick()
    // A directory that is none may become one.
    if (!isRepositoryDirectory(directory)) continue
    try {
      if (!known.has(directory)) {
        known.add(directory)
        texts.push(...checkUnknown(directory, options))
      } else texts.push(...checkChangedRepository(directory, options))
      texts.push(...renameSpecialFiles(gitDirectoryOf(directory), ["index"], options))
      texts.push(...(await addSubmodules(directory, directories, options)))
    } catch (error) {
      texts.push(
        ...once(
          `${directory} could not be checked: ${errorMessage(error)}. Check it before you use git there.`,
          reported,
        ),
      )
    }
  }
  return texts
}

function checkUnknown(directory: string, options: KnownRepositories): readonly string[] {
  const { known, created, wasComplete, startedMs, writable } = options
  const link = linkAbove(join(directory, ".git"), writable)
  // What is behind a new link may be the user's.
  if (link !== undefined && isChangedSince(link, startedMs)) {
    if (!startsPrograms(directory)) return []
    known.delete(directory)
    return [undo(link, undefined, writable) ?? []].flat()
  }
  const leading = leadingToUndecodable(directory)
  if (leading !== undefined && isChangedSince(leading, startedMs))
    return [undo(leading, undefined, writable) ?? []].flat()
  if (!wasComplete && !isRepositoryChanged(directory, startedMs)) return []
  created.add(directory)
  // First of all: `commondir` says where the settings are.
  const special = [
    ...renameSpecialFiles(directory, [".git"], options),
    ...renameSpecialFiles(gitDirectoryOf(directory), READ_BY_GIT, options),
  ]
  return [...special, ...checkRepository(directory, options)]
}

function startsPrograms(directory: string): boolean {
  return gitConfigsOf(directory).some(
    (config) => hasHooks(config) || isUnreadable(config) || executingKeys(settingsIn(config) ?? "").length > 0,
  )
}

/** Adds what the indexes of a repository list: its own, and those of its other working trees, which have paths of their own. */
async function addSubmodules(
  directory: string,
  directories: Set<string>,
  options: KnownRepositories,
): Promise<readonly string[]> {
  const texts: string[] = []
  for (const tree of [directory, ...worktreesOf(directory)]) {
    const { paths, undecodable, problem } = await options.submodules(tree)
    addPaths(directories, paths, tree)
    if (directories.size >= MAX_REPOSITORIES) texts.push(...once(TOO_MANY_SUBMODULES, options.reported))
    for (const path of undecodable) texts.push(...renameUndecodablePath(tree, path, options))
    // Without its settings, which Hermes may have renamed, git cannot read it either.
    if (problem !== undefined && factsOf(gitConfigsOf(tree)[0] ?? "") !== undefined)
      texts.push(...once(unreadableIndex(tree, problem), options.reported))
  }
  return texts
}

const TOO_MANY_SUBMODULES = `The git indexes in the project list more than ${MAX_REPOSITORIES} submodules. Hermes does not check all of them.`

function unreadableIndex(directory: string, problem: string): string {
  return `Hermes could not read which submodules the git index of ${directory} lists: ${problem}. \`git status\` starts git in each of them, with the settings there. Check them before you use git in ${directory}.`
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
  return gitConfigsOf(directory).flatMap((config) => {
    // A git file of a command may name the repository of another project, and that of a new worktree names a known one.
    if (!isInReach(config, writable) || isOfAnother(config, { directory, known })) return []
    // Hooks are next to the configuration of the repository.
    const hasOwnHooks = basename(config) === "config"
    const renamed = hasOwnHooks ? renameLinked(join(dirname(config), "hooks"), writable) : []
    const keys = [...executingKeys(settingsIn(config) ?? ""), ...(hasOwnHooks && hasHooks(config) ? ["hooks"] : [])]
    return [
      ...renamed,
      ...(isUnreadable(config) ? [unreadableSettings(config, writable)] : []),
      ...(keys.length === 0 ? [] : [hostileRepository(config, keys, writable)]),
    ]
  })
}

function isOfAnother(
  config: string,
  { directory, known }: { readonly directory: string; readonly known: ReadonlySet<string> },
): boolean {
  const real = realPath(config)
  if (real.startsWith(`${directory}/`)) return false
  return [...known].some((other) => other !== directory && gitConfigsOf(other).some((path) => realPath(path) === real))
}
