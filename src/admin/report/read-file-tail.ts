import { closeSync, fstatSync, openSync, readSync } from "node:fs"

import { isNotFound } from "../../base/system-error.ts"

/** The last complete lines of a file, at most `maxBytes`; undefined when it does not exist. */
export function readFileTail(path: string, maxBytes: number): string | undefined {
  let descriptor: number
  try {
    descriptor = openSync(path, "r")
  } catch (error) {
    if (isNotFound(error)) return undefined
    throw error
  }
  try {
    const { size } = fstatSync(descriptor)
    const start = Math.max(0, size - maxBytes)
    const bytes = Buffer.alloc(size - start)
    const read = readSync(descriptor, bytes, 0, bytes.length, start)
    const text = bytes.subarray(0, read).toString("utf8")
    return start === 0 ? text : text.slice(text.indexOf("\n") + 1)
  } finally {
    closeSync(descriptor)
  }
}
