import { basename, dirname, extname, relative } from "node:path"

import type { FileFacts, FileSystem, Workspace } from "../../exec/workspace.ts"
import type { FileStamp, FileTracker } from "../../toolkit/ports/files.ts"
import { similarNames } from "./similar-names.ts"

/** Larger files are not taken into memory to be edited. */
export const MAX_EDITED_BYTES = 64 * 1024 * 1024

/** Writes a file and reads it back: what is on the disk must be what was meant. Throws the system error. */
export async function storeAndCheck(path: string, bytes: Uint8Array, files: FileSystem): Promise<void> {
  await files.write(path, bytes)
  const stored = await files.read(path)
  if (!Buffer.from(stored.buffer, stored.byteOffset, stored.byteLength).equals(bytes)) {
    throw new Error("the file does not hold what was written; read it again")
  }
}

export async function stampOf(path: string, files: FileSystem): Promise<FileStamp | undefined> {
  const facts = await files.stat(path)
  return facts?.kind === "file" ? { modifiedMs: facts.modifiedMs, size: facts.size } : undefined
}

/** Why something that exists cannot be written to as a text file. */
export function notWritable(given: string, facts: FileFacts | undefined): string | undefined {
  if (EXTRACTED_ONLY.has(extname(given).toLowerCase())) {
    return `${given} is a document that file tools can only read; change it with a script`
  }
  switch (facts?.kind) {
    case "directory":
      return `${given} is a directory; name a file in it`
    case "other":
      return `${given} is a pipe, a socket or a device, not a regular file`
    default:
      return undefined
  }
}

const EXTRACTED_ONLY = new Set([".ipynb", ".docx", ".xlsx"])

/** Up to five names beside a missing file that may have been meant. */
export async function similarFiles(target: string, files: FileSystem): Promise<Record<string, readonly string[]>> {
  try {
    const entries = await files.list(dirname(target))
    const names = similarNames(
      basename(target),
      entries.map((entry) => entry.name),
      extname(target),
    )
    return names.length === 0 ? {} : { similar_files: names }
  } catch {
    // The directory is missing as well, or may not be listed: there is nothing similar to offer.
    return {}
  }
}

/** Where a path that was given relative really lies. */
export function resolvedField(given: string, target: string): { readonly resolved_path?: string } {
  return given === target ? {} : { resolved_path: target }
}

/** The shell has left the place where the session began, and the file lies outside of it: the model should know. */
export function outsideWarning(
  given: string,
  target: string,
  { workspace, tracker }: WarningPlaces,
): string | undefined {
  const root = tracker?.workspaceRoot
  const cwd = workspace.cwd()
  if (root === undefined || cwd === root || given.startsWith("/") || given.startsWith("~")) return undefined
  return isInside(target, root)
    ? undefined
    : `${given} was taken from ${cwd}, the directory of the shell, outside ${root}`
}

interface WarningPlaces {
  readonly workspace: Workspace
  readonly tracker: FileTracker | undefined
}

/** A path as people read it: from the working directory where it lies below that. */
export function shownPath(path: string, workspace: Workspace): string {
  const local = relative(workspace.cwd(), path)
  return local !== "" && isInside(path, workspace.cwd()) ? local : path
}

function isInside(path: string, directory: string): boolean {
  const local = relative(directory, path)
  return local === "" || (local !== ".." && !local.startsWith("../"))
}
