import { dirname, join, relative } from "node:path"

import { explainSystemError } from "../base/system-error.ts"
import { HERMES_FILES, readContextFile } from "./read-context-file.ts"
import type { ContextFile, ContextFileSystem, ContextFileResult } from "./read-context-file.ts"

export interface ContextFileSearch {
  readonly cwd: string
  /** Limit per source. All Cursor rules together count as one source. */
  readonly maxChars: number
  readonly files: ContextFileSystem
}

export interface ContextFiles {
  readonly files: readonly ContextFile[]
  /** For the user. */
  readonly warnings: readonly string[]
  /** For the debug log. */
  readonly skipped: readonly string[]
}

/**
 * Finds the project's rules for agents. The first existing kind wins: Hermes' own file, in the working directory or above it in the same
 * repository, then AGENTS.md, CLAUDE.md and Cursor's rules, in the working directory only.
 */
export async function findContextFiles(search: ContextFileSearch): Promise<ContextFiles> {
  const ancestors = await directoriesUpToRepository(search.cwd, search.files)
  const project = ancestors.at(-1) ?? search.cwd
  const notes: Notes = { warnings: [], skipped: [] }
  const candidates = [
    ...ancestors.flatMap((directory) => HERMES_FILES.map((name) => join(directory, name))),
    ...OTHER_AGENT_FILES.map((name) => join(search.cwd, name)),
  ]
  for (const path of await existingPaths(candidates, search.files)) {
    const name = relative(search.cwd, path)
    const file = takeFile(await readContextFile(path, { ...search, name, within: project }), notes)
    if (file !== undefined) return { files: [file], ...notes }
  }
  return { files: await cursorRules(search, { project, notes }), ...notes }
}

/** Returns a directory and its ancestors up to the root of its repository; only itself outside a repository. */
export async function directoriesUpToRepository(
  directory: string,
  files: ContextFileSystem,
): Promise<readonly string[]> {
  const ancestors = [directory]
  for (let next = dirname(directory); next !== ancestors.at(-1); next = dirname(next)) ancestors.push(next)
  const repositories = await Promise.all(ancestors.map((ancestor) => probePath(join(ancestor, ".git"), files)))
  const root = repositories.indexOf("present")
  return root === -1 ? [directory] : ancestors.slice(0, root + 1)
}

const OTHER_AGENT_FILES: readonly string[] = ["AGENTS.md", "agents.md", "CLAUDE.md", "claude.md"]

/** The names of rule files in a directory, by priority. */
export const RULE_FILE_NAMES: readonly string[] = [...HERMES_FILES, ...OTHER_AGENT_FILES, ".cursorrules"]

interface Notes {
  readonly warnings: string[]
  readonly skipped: string[]
}

/** Returns the file of a result and records its messages. */
function takeFile(outcome: ContextFileResult, notes: Notes): ContextFile | undefined {
  if (outcome.kind === "none") return undefined
  if (outcome.kind === "skipped") {
    if (outcome.warning) notes.warnings.push(outcome.reason)
    else notes.skipped.push(outcome.reason)
    return undefined
  }
  if (outcome.warning !== undefined) notes.warnings.push(outcome.warning)
  return outcome.file
}

/** A truncated file shorter than this is not worth including. */
export const MIN_REMAINING_CHARS = 500

/** Reads Cursor's rules: one legacy file and a directory. Leaves out what does not fit, with a warning. */
async function cursorRules(
  search: ContextFileSearch,
  { project, notes }: { readonly project: string; readonly notes: Notes },
): Promise<readonly ContextFile[]> {
  const rules = join(search.cwd, ".cursor", "rules")
  const names = [".cursorrules", ...(await ruleNames(rules, search.files, notes))]
  const found: ContextFile[] = []
  let remaining = search.maxChars
  for (const name of names) {
    const file = takeFile(
      await readContextFile(join(search.cwd, name), { ...search, name, within: project, maxChars: remaining }),
      notes,
    )
    if (file === undefined) continue
    found.push(file)
    remaining -= file.text.length
    if (remaining < MIN_REMAINING_CHARS) {
      const omitted = names.length - names.indexOf(name) - 1
      if (omitted > 0)
        notes.warnings.push(
          `${omitted} of Cursor's rule files were left out of the prompt, because they exceed the limit.`,
        )
      break
    }
  }
  return found
}

async function ruleNames(directory: string, files: ContextFileSystem, notes: Notes): Promise<readonly string[]> {
  if ((await probePath(directory, files)) === "absent") return []
  try {
    const entries = await files.list(directory)
    return entries
      .map(({ name }) => name)
      .filter((name) => name.endsWith(".mdc"))
      .sort()
      .map((name) => join(".cursor", "rules", name))
  } catch (error) {
    notes.skipped.push(`.cursor/rules was not read: ${explainSystemError(error)}`)
    return []
  }
}

/** Checks all paths concurrently, because each check may need a round trip to a container. */
export async function existingPaths(paths: readonly string[], files: ContextFileSystem): Promise<readonly string[]> {
  const found = await Promise.all(paths.map((path) => probePath(path, files)))
  return paths.filter((_, index) => found[index] !== "absent")
}

/** A path that cannot be checked is `unknown`: reading it then reports the reason. */
async function probePath(path: string, files: ContextFileSystem): Promise<"present" | "absent" | "unknown"> {
  try {
    return (await files.stat(path)) === undefined ? "absent" : "present"
  } catch {
    return "unknown"
  }
}
