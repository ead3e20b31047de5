import { isUtf8 } from "node:buffer"
import { lstatSync } from "node:fs"
import type { Stats } from "node:fs"
import { join, resolve } from "node:path"

import { errorMessage } from "../../base/system-error.ts"
import { renameBytes } from "../project/contained-changes.ts"
import type { Writable } from "../project/contained-changes.ts"
import { once } from "./notice-text.ts"
import type { ProjectSearch } from "../project/project-index.ts"
import { CLOCK_TICK_MS } from "../project/time-of-change.ts"

/**
 * Names that are not valid UTF-8. Node decodes them with replacement characters and finds nothing under the result, so that neither mounts
 * nor checks see what is there. New ones get another name.
 */
export interface UndecodableOptions {
  readonly writable: Writable
  /** When the command started, in milliseconds since 1970. */
  readonly startedMs: number
  /** What the user is notified of only once. Grows. */
  readonly reported: Set<string>
}

/** A directory with such a name may contain another one, which takes another search. */
const MAX_ROUNDS = 20
const MAX_SHOWN = 5

/** Renames what is new and searches again, so that the rest of a check sees what is inside. */
export async function renameUndecodable(
  after: ProjectSearch,
  {
    before,
    searchAgain,
    isFromGit,
    ...options
  }: UndecodableOptions & {
    /** Git updated the working tree, and would take a renamed directory for a deleted one. */
    readonly isFromGit: boolean
    readonly before?: ProjectSearch | undefined
    readonly searchAgain: () => Promise<ProjectSearch>
  },
): Promise<{ readonly search: ProjectSearch; readonly texts: readonly string[] }> {
  const texts: string[] = []
  let search = after
  for (let round = 0; round < MAX_ROUNDS; round += 1) {
    const renamed = isFromGit ? [] : newNames(search, before).flatMap((entry) => rename(entry, options) ?? [])
    for (const { text } of renamed) texts.push(text)
    if (!renamed.some(({ isRenamed }) => isRenamed)) break
    search = await searchAgain()
  }
  return { search, texts: [...shortened([...new Set(texts)]), ...unprotected(search, options.reported)] }
}

interface UndecodableEntry {
  readonly directory: string
  readonly name: Buffer
}

function newNames({ undecodable }: ProjectSearch, before: ProjectSearch | undefined): readonly UndecodableEntry[] {
  return [...undecodable].flatMap(([directory, names]) => {
    const known = before?.undecodable.get(directory) ?? []
    return names.filter((name) => !known.some((other) => other.equals(name))).map((name) => ({ directory, name }))
  })
}

/** The same for a path below a directory that an index of git lists. What has been there before is reported. */
export function renameUndecodablePath(directory: string, path: Buffer, options: UndecodableOptions): readonly string[] {
  const names = path
    .toString("latin1")
    .split("/")
    .map((component) => Buffer.from(component, "latin1"))
  const index = names.findIndex((name) => !isUtf8(name))
  const above = names.slice(0, index).map((name) => `${name.toString("utf8")}/`)
  const parent = resolve(directory, above.join(""))
  const name = names[index]
  if (name === undefined || factsOf({ directory: parent, name }) === undefined) return []
  const renamed = rename({ directory: parent, name }, options)
  if (renamed !== undefined) return [renamed.text]
  return once(
    `The git index of ${directory} lists the submodule ${readable(path)}, whose name is not valid UTF-8, so that Hermes cannot check it. \`git status\` starts git in it, with the settings there. Check it before you use git in ${directory}.`,
    options.reported,
  )
}

/** Undefined when it is older than the command, or out of reach. */
function rename(
  entry: UndecodableEntry,
  { writable, startedMs }: UndecodableOptions,
): { readonly text: string; readonly isRenamed: boolean } | undefined {
  const facts = factsOf(entry)
  if (facts === undefined || facts.ctimeMs < startedMs - CLOCK_TICK_MS) return undefined
  const path = join(entry.directory, readable(entry.name))
  // The rest of the check looks into a directory or a link.
  const ending = facts.isDirectory() || facts.isSymbolicLink() ? "" : ".from-sandbox"
  try {
    const renamed = renameBytes(`${path}${ending}`, entry.name, writable)
    if (renamed === undefined) return undefined
    const text = `A command created a name in ${entry.directory} that is not valid UTF-8, which Hermes cannot check. Hermes renamed it to ${renamed}.`
    return { text, isRenamed: true }
  } catch (error) {
    const text = `A command created ${path}, whose name is not valid UTF-8, and Hermes could not rename it: ${errorMessage(error)}. Check it.`
    return { text, isRenamed: false }
  }
}

function factsOf({ directory, name }: UndecodableEntry): Stats | undefined {
  try {
    return lstatSync(Buffer.concat([Buffer.from(`${directory}/`), name]), { throwIfNoEntry: false })
  } catch {
    // A part of the path is a file, or not accessible.
    return undefined
  }
}

function unprotected({ undecodable }: ProjectSearch, reported: Set<string>): readonly string[] {
  const paths = Array.from(undecodable, ([directory, names]) =>
    names.map((name) => join(directory, readable(name))),
  ).flat()
  if (paths.length === 0) return []
  const more = paths.length > MAX_SHOWN ? ` and ${paths.length - MAX_SHOWN} more` : ""
  return once(
    `Some names are not valid UTF-8: ${paths.slice(0, MAX_SHOWN).join(", ")}${more} (bytes are shown as %FF). Hermes can neither protect nor check what other programs execute there. Rename them to have them protected.`,
    reported,
  )
}

function shortened(texts: readonly string[]): readonly string[] {
  if (texts.length <= MAX_SHOWN) return texts
  return [...texts.slice(0, MAX_SHOWN), `${texts.length - MAX_SHOWN} more such names were handled the same way.`]
}

/** The characters, with `%` and two digits for each byte that is none. */
function readable(bytes: Buffer): string {
  let text = ""
  for (let at = 0; at < bytes.length;) {
    const length = [1, 2, 3, 4].find((count) => at + count <= bytes.length && isUtf8(bytes.subarray(at, at + count)))
    text +=
      length === undefined
        ? `%${bytes.toString("hex", at, at + 1).toUpperCase()}`
        : bytes.toString("utf8", at, at + length)
    at += length ?? 1
  }
  return text
}
