import { dirname, join } from "node:path"

import { readRegularText } from "../../base/regular-file.ts"
import { AGENT_INSTRUCTIONS, EXECUTED_IN_WORKSPACE, TOOL_SETTINGS } from "../../config/protected-paths.ts"
import { calledByHooks } from "./called-by-hooks.ts"
import { factsOf, targetFactsOf } from "./file-facts.ts"
import { executedByGit, executingKeys, gitConfigsOf, hasHooks } from "./git-repositories.ts"
import { namedBySettings, namedByUser } from "./named-by-settings.ts"
import { createNameLookup } from "./name-lookup.ts"
import type { NameLookup } from "./name-lookup.ts"
import { groupByTop, possibleGroups } from "./names-by-top.ts"
import type { NamesByTop } from "./names-by-top.ts"
import { CLOCK_TICK_MS } from "./time-of-change.ts"

interface ProtectedNames extends NamesByTop {
  /** Everything in the directory is protected. */
  readonly isWhole: boolean
}

const NAMES = [...EXECUTED_IN_WORKSPACE.filter((name) => !name.startsWith(".git/")), ...AGENT_INSTRUCTIONS]
/** Such as `*.code-workspace`. */
const ENDINGS: readonly string[] = NAMES.flatMap((name) => (name.startsWith("*") ? [name.slice(1)] : []))
const PROTECTED: readonly ProtectedNames[] = groupByTop(NAMES.filter((name) => !name.startsWith("*"))).map((group) => ({
  ...group,
  isWhole: group.names.includes(group.top),
}))
/** The directories around protected names. */
const CONTAINERS = groupByTop([...new Set(PROTECTED.flatMap(({ names }) => names.flatMap(ancestors)))])

function ancestors(name: string): readonly string[] {
  const parent = dirname(name)
  return parent === "." ? [] : [...ancestors(parent), parent]
}

/** Whether a path that `executedFiles` returned has instructions for agents. */
export function isInstruction(path: string): boolean {
  return AGENT_INSTRUCTIONS.some((name) => path.endsWith(`/${name}`))
}

/** Whether git may change such a path when it updates the working tree: projects keep it in git, and others change it. */
export function isUpdatedByGit(path: string): boolean {
  return isInstruction(path) || TOOL_SETTINGS.some((name) => path.endsWith(`/${name}`))
}

/**
 * Returns the files and directories in the given directories that other programs execute or obey, or that agents follow. Some of them may not exist.
 * With `withHookFiles`, the existing scripts that hooks start are among them; git may change those when it updates the working tree. With
 * `userHome`, those that the user's own settings of git name are too.
 */
export function executedFiles(
  directories: readonly string[],
  mayExist: NameLookup = createNameLookup(),
  {
    withHookFiles = false,
    userHome,
  }: { readonly withHookFiles?: boolean; readonly userHome?: string | undefined } = {},
): readonly string[] {
  const exists = (path: string): boolean => mayExist(path) && isThere(path)
  return directories.flatMap((directory) => {
    const inGit = executedByGit(directory)
    const named = inGit.length === 0 ? [] : namedByGit(directory, userHome)
    const others = possibleGroups(PROTECTED, directory, mayExist).flatMap(({ top, names, isWhole }) =>
      isWhole || exists(join(directory, top)) ? names : [],
    )
    const ending = ENDINGS.flatMap((text) => mayExist.endingWith(directory, text))
    const inHooks = withHookFiles && inGit.length > 0 ? calledByHooks(directory, named) : []
    return [...inGit, ...named, ...inHooks, ...[...others, ...ending].map((name) => join(directory, name))]
  })
}

function namedByGit(directory: string, userHome: string | undefined): readonly string[] {
  const byRepository = gitConfigsOf(directory).flatMap((config) => namedBySettings(directory, config))
  return [...byRepository, ...(userHome === undefined ? [] : namedByUser(directory, userHome))]
}

/**
 * Returns the directories around such files that are links. Through a link, a file gets its protected name although it is written under
 * another one.
 */
export function linkedDirectories(directories: readonly string[], mayExist: NameLookup): readonly string[] {
  return directories.flatMap((directory) =>
    possibleGroups(CONTAINERS, directory, mayExist)
      .flatMap(({ names }) => names.map((name) => join(directory, name)))
      .filter((path) => mayExist(path) && isLink(path)),
  )
}

/** Returns those of the protected files that exist, without those of git, and the links to directories around them. */
export function existingFiles(directories: readonly string[]): readonly string[] {
  const mayExist = createNameLookup()
  const links = linkedDirectories(directories, mayExist)
  const files = directories.flatMap((directory) => [
    ...possibleGroups(PROTECTED, directory, mayExist).flatMap(({ names }) =>
      names.map((name) => join(directory, name)),
    ),
    ...ENDINGS.flatMap((ending) => mayExist.endingWith(directory, ending)).map((name) => join(directory, name)),
  ])
  return [...links, ...files.filter((path) => mayExist(path) && factsOf(path) !== undefined)]
}

function isLink(path: string): boolean {
  return factsOf(path)?.isSymbolicLink() === true
}

/** Whether a file or directory was changed or got its name since then. The time of that cannot be set by a program. */
export function isChangedSince(path: string, sinceMs: number): boolean {
  const facts = factsOf(path)
  return facts !== undefined && facts.ctimeMs >= sinceMs - CLOCK_TICK_MS
}

/**
 * Returns the directories whose files are protected: every one from the working directory up to the writable directory that contains it, so
 * that a command in a subdirectory cannot reach them either, and the repositories that were found.
 */
export function projectDirectories(
  cwd: string,
  { writable, repositories }: { readonly writable: readonly string[]; readonly repositories: readonly string[] },
): readonly string[] {
  const roots = writable.filter((root) => cwd === root || cwd.startsWith(`${root}/`))
  const outermost = roots.toSorted((one, other) => one.length - other.length)[0]
  const directories = new Set([...writable.slice(0, 1), ...repositories])
  if (outermost === undefined) return [...directories]
  for (let directory = cwd; directory.length >= outermost.length; directory = dirname(directory)) {
    directories.add(directory)
    if (dirname(directory) === directory) break
  }
  return [...directories]
}

function isThere(path: string): boolean {
  return targetFactsOf(path) !== undefined
}

/**
 * Whether git would run programs of the project with this configuration file: hooks, filters and so on. They must not write the file. The
 * user's own configuration may name a directory of hooks for all repositories.
 */
export function runsPrograms(gitConfig: string, userHome: string): boolean {
  if (hasHooks(gitConfig) || executingKeys(textOf(gitConfig)).length > 0) return true
  return [".gitconfig", ".config/git/config"].some((name) => /hookspath/iu.test(textOf(join(userHome, name))))
}

function textOf(path: string): string {
  return readRegularText(path, { encoding: "latin1" }) ?? ""
}
