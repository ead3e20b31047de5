import { existsSync, readFileSync } from "node:fs"
import { dirname, join } from "node:path"

import { realPath } from "../../base/real-path.ts"
import { isInReach } from "./contained-changes.ts"
import type { Writable } from "./contained-changes.ts"
import {
  executingKeys,
  gitConfigsOf,
  gitDirectoryOf,
  hasHooks,
  hooksIn,
  isRepositoryDirectory,
} from "./git-repositories.ts"
import { hostileRepository } from "./hostile-repository.ts"
import { renameLinked, undo } from "./planted-files.ts"
import type { ProjectSearch } from "./project-index.ts"
import { isChangedSince } from "./project-protection.ts"
import { submodulePaths } from "./submodule-paths.ts"

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

function isOfAnother(
  config: string,
  { directory, known }: { readonly directory: string; readonly known: ReadonlySet<string> },
): boolean {
  const real = realPath(config)
  if (real.startsWith(`${directory}/`)) return false
  return [...known].some((other) => other !== directory && gitConfigsOf(other).some((path) => realPath(path) === real))
}
