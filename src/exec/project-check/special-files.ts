import { join } from "node:path"

import { errorMessage } from "../../base/system-error.ts"
import { renameAside } from "../project/contained-changes.ts"
import type { Writable } from "../project/contained-changes.ts"
import { targetFactsOf } from "../project/file-facts.ts"
import { once } from "./notice-text.ts"
import { isChangedSince } from "../project/project-protection.ts"

/** In a git directory: what git reads. */
export const READ_BY_GIT: readonly string[] = [
  "config",
  "config.worktree",
  "commondir",
  "HEAD",
  "index",
  "packed-refs",
  "info/attributes",
  "info/exclude",
]

interface SpecialFilesOptions {
  readonly writable: Writable
  /** When the command started, in milliseconds since 1970. */
  readonly startedMs: number
  /** What the user is notified of only once. Grows. */
  readonly reported: Set<string>
}

/**
 * Renames those of the files that are named pipes or devices. A program that reads a pipe waits for a process that writes to it, which may
 * be there until then. Returns what happened, for the user.
 */
export function renameSpecialFiles(
  directory: string,
  names: readonly string[],
  { writable, startedMs, reported }: SpecialFilesOptions,
): readonly string[] {
  return names.flatMap((name) => {
    const path = join(directory, name)
    if (!isSpecial(path)) return []
    const what = `${path} is not a regular file, and git would wait for what it reads there.`
    // The user's own, or of an earlier session.
    if (!isChangedSince(path, startedMs)) return once(`${what} Remove it.`, reported)
    try {
      const aside = renameAside(path, writable)
      return aside === undefined ? [] : [`A command created a pipe or a device: ${what} Hermes renamed it to ${aside}.`]
    } catch (error) {
      return [`${what} Hermes could not rename it: ${errorMessage(error)}. Remove it.`]
    }
  })
}

function isSpecial(path: string): boolean {
  const facts = targetFactsOf(path)
  return facts !== undefined && !facts.isFile() && !facts.isDirectory()
}
