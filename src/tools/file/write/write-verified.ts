import { extname } from "node:path"

import type { FileFacts, FileSystem } from "../../../exec/workspace.ts"
import type { FileStamp } from "../../../toolkit/ports/files.ts"

/** Larger files are not loaded into memory for editing. */
export const MAX_EDITED_BYTES = 64 * 1024 * 1024

/** Writes a file and reads it back to verify it. Throws the system error, or an error when the content differs. */
export async function writeVerified(path: string, bytes: Uint8Array, files: FileSystem): Promise<void> {
  await files.write(path, bytes)
  const stored = await files.read(path)
  if (!Buffer.from(stored.buffer, stored.byteOffset, stored.byteLength).equals(bytes)) {
    throw new Error("the file does not contain what was written; read it again")
  }
}

export async function stampOf(path: string, files: FileSystem): Promise<FileStamp | undefined> {
  const facts = await files.stat(path)
  return facts?.kind === "file" ? { modifiedMs: facts.modifiedMs, size: facts.size } : undefined
}

/** Why a path cannot be written as a text file. */
export function unwritableReason(given: string, facts: FileFacts | undefined): string | undefined {
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
