import { existsSync } from "node:fs"
import { dirname, join, resolve } from "node:path"

import { readRegularText } from "../../base/regular-file.ts"
import { calledByHooks } from "./called-by-hooks.ts"
import { targetFactsOf } from "./file-facts.ts"
import { executingSettings, gitConfigsOf } from "./git-repositories.ts"

/** How deep files with settings may include each other. */
const MAX_DEPTH = 4

/**
 * Returns the files and directories of a project that the settings of its repository name: hooks, files with more settings, programs of
 * filters, editors and so on. Git executes or obeys them, wherever they are. Some of them may not exist.
 */
export function namedBySettings(directory: string, config: string, depth = MAX_DEPTH): readonly string[] {
  if (depth === 0) return []
  const isInside = (path: string): boolean =>
    path.startsWith(`${directory}/`) && !path.startsWith(`${directory}/.git/`) && path !== `${directory}/.git`
  return executingSettings(readRegularText(config) ?? "").flatMap(({ key, value }) => {
    if (NAMES_NO_FILE.test(key)) return []
    if (key === "core.hookspath") return [resolve(directory, value)].filter(isInside)
    if (/^include(?:if)?\.path$/u.test(key)) {
      const included = resolve(dirname(config), value)
      return [...[included].filter(isInside), ...namedBySettings(directory, included, depth - 1)]
    }
    return programWords(value)
      .filter((word) => word.includes("/") || isFile(resolve(directory, word)))
      .map((word) => resolve(directory, word))
      .filter((path) => isInside(path) && !isDirectory(path))
  })
}

/**
 * Whether the settings of a repository in the workspace, the user's own, or hooks name a file or a directory around it, so that git executes
 * or obeys it.
 */
export function isNamedByGit(
  path: string,
  { root, userHome }: { readonly root: string; readonly userHome: string },
): boolean {
  const ofUser = [join(userHome, ".gitconfig"), join(userHome, ".config", "git", "config")]
  for (let directory = dirname(path); isInOrSame(directory, root); directory = dirname(directory)) {
    if (existsSync(join(directory, ".git"))) {
      const named = [...gitConfigsOf(directory), ...ofUser].flatMap((config) => namedBySettings(directory, config))
      if ([...named, ...calledByHooks(directory, named)].some((one) => isInOrSame(path, one))) return true
    }
    if (directory === dirname(directory)) break
  }
  return false
}

function isInOrSame(path: string, directory: string): boolean {
  return path === directory || path.startsWith(directory.endsWith("/") ? directory : `${directory}/`)
}

/** These name hosts, or the directory that git works in. */
const NAMES_NO_FILE = /^(?:protocol|url|https?|extensions|remote)\.|^core\.worktree$/u

/** Git passes the value to a shell, at the top of the working tree. */
function programWords(value: string): readonly string[] {
  return value.split(/[\s;|&<>()"'`!]+/u).filter((word) => word !== "" && !word.startsWith("-"))
}

function isFile(path: string): boolean {
  return targetFactsOf(path)?.isFile() === true
}

function isDirectory(path: string): boolean {
  return targetFactsOf(path)?.isDirectory() === true
}
