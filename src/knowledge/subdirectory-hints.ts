import { dirname, join, relative, sep } from "node:path"

import { lazy } from "../base/lazy.ts"
import { RULE_FILE_NAMES, MIN_REMAINING_CHARS, directoriesUpToRepository, existingPaths } from "./context-files.ts"
import { blockedNotice, readContextFile } from "./read-context-file.ts"
import type { ContextFile, ContextFileSystem } from "./read-context-file.ts"

export interface SubdirectoryHintOptions {
  /** The directory where the session started. The prompt already covers its rules and those above it. */
  readonly root: string
  readonly files: ContextFileSystem & { resolve(path: string): string }
  readonly maxChars: number
}

export interface SubdirectoryHints {
  /** Returns the rules of a directory when a tool first accesses it. Pass `kind` when the path is a file, to save a check. */
  hintFor(path: string, kind?: "file"): Promise<string | undefined>
}

/** Shows the model the rules of a subdirectory when it first works there. Create one per session. */
export function createSubdirectoryHints(options: SubdirectoryHintOptions): SubdirectoryHints {
  const { files } = options
  const seen = new Set<string>()
  const findProject = lazy(async (): Promise<string> => {
    const ancestors = await directoriesUpToRepository(options.root, files)
    for (const directory of ancestors) seen.add(directory)
    return ancestors.at(-1) ?? options.root
  })
  return {
    hintFor: async (path, kind) => {
      const within = await findProject()
      const unseen = await unseenDirectories(files.resolve(path), { within, seen, files, kind })
      return await hintText(unseen, { ...options, within })
    },
  }
}

/** In addition to the directory itself. */
const MAX_ANCESTORS = 5
/** Directories with third-party code, whose rules do not apply to this project. */
const IGNORED_DIRECTORIES = new Set([".git", "node_modules", "site-packages", ".venv"])

interface SearchContext {
  readonly within: string
  /** Grows by the directories that are found. */
  readonly seen: Set<string>
  readonly files: ContextFileSystem
  readonly kind: "file" | undefined
}

/** Innermost first. */
async function unseenDirectories(path: string, context: SearchContext): Promise<readonly string[]> {
  const { within, seen, files, kind } = context
  if (
    !isInside(path, within) ||
    relative(within, path)
      .split(sep)
      .some((name) => IGNORED_DIRECTORIES.has(name))
  )
    return []
  if (seen.has(path)) return []
  const unseen: string[] = []
  let directory = kind !== "file" && (await isDirectory(path, files)) ? path : dirname(path)
  for (let steps = 0; steps <= MAX_ANCESTORS && isInside(directory, within); steps += 1) {
    if (!seen.has(directory)) unseen.push(directory)
    // At once, so that concurrent calls do not return the same rules twice.
    seen.add(directory)
    directory = dirname(directory)
  }
  return unseen
}

function isInside(path: string, directory: string): boolean {
  const target = relative(directory, path)
  return target !== ".." && !target.startsWith(`..${sep}`)
}

async function isDirectory(path: string, files: ContextFileSystem): Promise<boolean> {
  try {
    return (await files.stat(path))?.kind === "directory"
  } catch {
    // A path that cannot be checked counts as a file.
    return false
  }
}

/** Gives the nearest rules precedence within the limit, and puts them last, where the model weighs them most. */
async function hintText(
  directories: readonly string[],
  options: SubdirectoryHintOptions & { readonly within: string },
): Promise<string | undefined> {
  const parts: string[] = []
  let remaining = options.maxChars
  // One batch for all directories, because each check may need a round trip.
  const candidates = directories.map((directory) => RULE_FILE_NAMES.map((name) => join(directory, name)))
  const existing = new Set(await existingPaths(candidates.flat(), options.files))
  for (const paths of candidates) {
    const found = paths.filter((path) => existing.has(path))
    const file =
      parts.length > 0 && remaining < MIN_REMAINING_CHARS
        ? undefined
        : await rulesOf(found, { ...options, maxChars: remaining })
    if (file === undefined) continue
    const text = hintOf(file)
    remaining -= text.length
    parts.unshift(`[Rules of this directory, from ${file.name}]\n${text}`)
  }
  return parts.length === 0 ? undefined : parts.join("\n\n")
}

/** During a session only the model can warn the user about a blocked file. */
function hintOf({ name, text, blocked }: ContextFile): string {
  return blocked === undefined
    ? text
    : blockedNotice(name, { threats: blocked, remedy: "ask the user to check the file" })
}

async function rulesOf(
  paths: readonly string[],
  options: SubdirectoryHintOptions & { readonly within: string },
): Promise<ContextFile | undefined> {
  for (const path of paths) {
    const outcome = await readContextFile(path, {
      files: options.files,
      name: relative(options.root, path),
      within: options.within,
      maxChars: options.maxChars,
    })
    if (outcome.kind === "found") return outcome.file
  }
  return undefined
}
