import { dirname, join, relative, sep } from "node:path"

import { DIRECTORY_FILES, MIN_ROOM, directoriesUpToRepository, existingPaths } from "./context-files.ts"
import { blockedText, readContextFile } from "./read-context-file.ts"
import type { ContextFile, ContextFileSystem } from "./read-context-file.ts"

export interface SubdirectoryHintOptions {
  /** Where the session started: its rules, and those above it, are in the prompt or were passed over for a better file. */
  readonly root: string
  readonly files: ContextFileSystem & { resolve(path: string): string }
  readonly maxChars: number
}

export interface SubdirectoryHints {
  /** The rules of the directory a tool has touched, the first time; undefined when there is nothing new to say. Somebody who knows that
   * the path is a file saves a look at it. */
  hintFor(path: string, kind?: "file"): Promise<string | undefined>
}

/** Brings the rules of a part of the project to the model when it first works there. One per session. */
export function createSubdirectoryHints(options: SubdirectoryHintOptions): SubdirectoryHints {
  const { files } = options
  const seen = new Set<string>()
  let project: Promise<string> | undefined

  const findProject = async (): Promise<string> => {
    const upward = await directoriesUpToRepository(options.root, files)
    for (const directory of upward) seen.add(directory)
    return upward.at(-1) ?? options.root
  }
  return {
    hintFor: async (path, kind) => {
      project ??= findProject()
      const within = await project
      const unseen = await unseenDirectories(files.resolve(path), { within, seen, files, kind })
      // Marked before anything is awaited, so that two calls at once do not both bring the same rules.
      for (const directory of unseen) seen.add(directory)
      return await hintText(unseen, { ...options, within })
    },
  }
}

/** Beyond its own directory. */
const MAX_ANCESTORS = 5
/** Code of other people, which carries rules of its own: they are not meant for this project. */
const FOREIGN = new Set([".git", "node_modules", "site-packages", ".venv"])

interface Surroundings {
  readonly within: string
  readonly seen: ReadonlySet<string>
  readonly files: ContextFileSystem
  readonly kind: "file" | undefined
}

/** Innermost first. */
async function unseenDirectories(path: string, surroundings: Surroundings): Promise<readonly string[]> {
  const { within, seen, files, kind } = surroundings
  if (
    !isInside(path, within) ||
    relative(within, path)
      .split(sep)
      .some((name) => FOREIGN.has(name))
  )
    return []
  if (seen.has(path)) return []
  const unseen: string[] = []
  let directory = kind !== "file" && (await isDirectory(path, files)) ? path : dirname(path)
  for (let steps = 0; steps <= MAX_ANCESTORS && isInside(directory, within); steps += 1) {
    if (!seen.has(directory)) unseen.push(directory)
    directory = dirname(directory)
  }
  return unseen
}

function isInside(path: string, directory: string): boolean {
  const place = relative(directory, path)
  return place !== ".." && !place.startsWith(`..${sep}`)
}

async function isDirectory(path: string, files: ContextFileSystem): Promise<boolean> {
  try {
    return (await files.stat(path))?.kind === "directory"
  } catch {
    // What cannot be looked at is taken for a file; its directory decides.
    return false
  }
}

/** The nearest rules are the most to the point, so they get the room first; they are told last, where they count most. */
async function hintText(
  directories: readonly string[],
  options: SubdirectoryHintOptions & { readonly within: string },
): Promise<string | undefined> {
  const parts: string[] = []
  let room = options.maxChars
  // Asked for all directories at once, because each question may have to travel.
  const candidates = directories.map((directory) => DIRECTORY_FILES.map((name) => join(directory, name)))
  const existing = new Set(await existingPaths(candidates.flat(), options.files))
  for (const paths of candidates) {
    const found = paths.filter((path) => existing.has(path))
    const file = parts.length > 0 && room < MIN_ROOM ? undefined : await rulesOf(found, { ...options, maxChars: room })
    if (file === undefined) continue
    const text = usable(file)
    room -= text.length
    parts.unshift(`[Rules of this directory, from ${file.name}]\n${text}`)
  }
  return parts.length === 0 ? undefined : parts.join("\n\n")
}

/** In the middle of the work only the model can tell the person that a file is poisoned. */
function usable({ name, text, blocked }: ContextFile): string {
  return blocked === undefined
    ? text
    : blockedText(name, { threats: blocked, remedy: "tell the person to check the file" })
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
