import { dirname, join, relative } from "node:path"

import { explainSystemError } from "../base/system-error.ts"
import { OWN_FILES, readContextFile } from "./read-context-file.ts"
import type { ContextFile, ContextFileSystem, ReadContextFile } from "./read-context-file.ts"

export interface ContextFileSearch {
  readonly cwd: string
  /** Of one source; all Cursor rules together are one. */
  readonly maxChars: number
  readonly files: ContextFileSystem
}

export interface ContextFiles {
  readonly files: readonly ContextFile[]
  /** For the person. */
  readonly warnings: readonly string[]
  /** For the debug log. */
  readonly skipped: readonly string[]
}

/**
 * The rules of the project for its agents. The first kind that is there wins: Hermes' own file, in the working directory or above
 * it in the same repository, then AGENTS.md, CLAUDE.md and Cursor's rules, in the working directory only.
 */
export async function findContextFiles(search: ContextFileSearch): Promise<ContextFiles> {
  const upward = await directoriesUpToRepository(search.cwd, search.files)
  const project = upward.at(-1) ?? search.cwd
  const notes: Notes = { warnings: [], skipped: [] }
  const single = [
    ...upward.flatMap((directory) => OWN_FILES.map((name) => join(directory, name))),
    ...FOREIGN_FILES.map((name) => join(search.cwd, name)),
  ]
  for (const path of await existingPaths(single, search.files)) {
    const name = relative(search.cwd, path)
    const file = noted(await readContextFile(path, { ...search, name, within: project }), notes)
    if (file !== undefined) return { files: [file], ...notes }
  }
  return { files: await cursorRules(search, { project, notes }), ...notes }
}

/** The directory itself and those above it, up to the root of its repository; only itself where there is none. */
export async function directoriesUpToRepository(
  directory: string,
  files: ContextFileSystem,
): Promise<readonly string[]> {
  const upward = [directory]
  for (let next = dirname(directory); next !== upward.at(-1); next = dirname(next)) upward.push(next)
  const marks = await Promise.all(upward.map((place) => lookAt(join(place, ".git"), files)))
  const root = marks.indexOf("there")
  return root === -1 ? [directory] : upward.slice(0, root + 1)
}

const FOREIGN_FILES: readonly string[] = ["AGENTS.md", "agents.md", "CLAUDE.md", "claude.md"]

/** The names a single directory may keep its rules under, best first. */
export const DIRECTORY_FILES: readonly string[] = [...OWN_FILES, ...FOREIGN_FILES, ".cursorrules"]

interface Notes {
  readonly warnings: string[]
  readonly skipped: string[]
}

function noted(outcome: ReadContextFile, notes: Notes): ContextFile | undefined {
  if (outcome.kind === "none") return undefined
  if (outcome.kind === "skipped") {
    if (outcome.warning) notes.warnings.push(outcome.reason)
    else notes.skipped.push(outcome.reason)
    return undefined
  }
  if (outcome.warning !== undefined) notes.warnings.push(outcome.warning)
  return outcome.file
}

/** Less than this is not worth a cut file. */
export const MIN_ROOM = 500

/** Cursor keeps its rules in one old file and a directory of new ones; what no longer fits is left out and told. */
async function cursorRules(
  search: ContextFileSearch,
  { project, notes }: { readonly project: string; readonly notes: Notes },
): Promise<readonly ContextFile[]> {
  const rules = join(search.cwd, ".cursor", "rules")
  const names = [".cursorrules", ...(await ruleNames(rules, search.files, notes))]
  const found: ContextFile[] = []
  let room = search.maxChars
  for (const name of names) {
    const file = noted(
      await readContextFile(join(search.cwd, name), { ...search, name, within: project, maxChars: room }),
      notes,
    )
    if (file === undefined) continue
    found.push(file)
    room -= file.text.length
    if (room < MIN_ROOM) {
      const left = names.length - names.indexOf(name) - 1
      if (left > 0) notes.warnings.push(`${left} of Cursor's rule files were left out of the prompt: no room.`)
      break
    }
  }
  return found
}

async function ruleNames(directory: string, files: ContextFileSystem, notes: Notes): Promise<readonly string[]> {
  if ((await lookAt(directory, files)) === "absent") return []
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

/** Asked all at once, because each question may have to travel to a container. */
export async function existingPaths(paths: readonly string[], files: ContextFileSystem): Promise<readonly string[]> {
  const found = await Promise.all(paths.map((path) => lookAt(path, files)))
  return paths.filter((_, index) => found[index] !== "absent")
}

/** What cannot be looked at is worth a try: reading it then says why it cannot be used. */
async function lookAt(path: string, files: ContextFileSystem): Promise<"there" | "absent" | "unknown"> {
  try {
    return (await files.stat(path)) === undefined ? "absent" : "there"
  } catch {
    return "unknown"
  }
}
