import { closeSync, constants, fstatSync, lstatSync, openSync, readFileSync, statSync } from "node:fs"
import type { BigIntStats } from "node:fs"

import { isNotFound } from "./system-error.ts"

/** The path is not a regular file, or the file is too large. The message completes a sentence that names the path. */
export class UnusableFileError extends Error {
  override readonly name = "UnusableFileError"
}

/**
 * Reads a file that the user may have replaced with anything: a named pipe does not block, and a device does not fill the memory.
 * Throws the system error, or `UnusableFileError`.
 */
export function readRegularFile(
  path: string,
  options: { readonly maxBytes: number },
): { readonly bytes: Buffer; readonly stats: BigIntStats } {
  const descriptor = openFile(path)
  try {
    const stats = fstatSync(descriptor, { bigint: true })
    if (!stats.isFile()) throw new UnusableFileError("it is not a regular file; move it away")
    if (stats.size > BigInt(options.maxBytes)) {
      throw new UnusableFileError(`the file is larger than ${options.maxBytes / 1_000_000} MB`)
    }
    return { bytes: readFileSync(descriptor), stats }
  } finally {
    closeSync(descriptor)
  }
}

/**
 * The text of a file in a project, where commands may have created anything. Undefined when there is no regular file of up to `maxBytes`, or
 * it cannot be read.
 */
export function readRegularText(
  path: string,
  {
    maxBytes = MAX_TEXT_BYTES,
    encoding = "utf8",
  }: { readonly maxBytes?: number; readonly encoding?: BufferEncoding } = {},
): string | undefined {
  try {
    // Most of these files do not exist, and an exception takes longer than this check.
    if (statSync(path, { throwIfNoEntry: false })?.isFile() !== true) return undefined
    return readRegularFile(path, { maxBytes }).bytes.toString(encoding)
  } catch {
    return undefined
  }
}

const MAX_TEXT_BYTES = 4_000_000

/** A link to a file that does not exist is not the same as no file: the user configured something that is not available now. */
function openFile(path: string): number {
  try {
    return openSync(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0))
  } catch (cause) {
    if (isNotFound(cause) && lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true)
      throw new UnusableFileError("it is a link to a file that does not exist", { cause })
    throw cause
  }
}
