import { closeSync, fstatSync, openSync, readSync, statSync } from "node:fs"
import { StringDecoder } from "node:string_decoder"
import type { Clock } from "../../base/clock.ts"
import { logParts, type LogPosition } from "./log-files.ts"

const POLL_MS = 200
const CHUNK = 64 * 1024

/**
 * Yields new complete lines of a log until the signal aborts. Reads a rotated file to its end before it continues with the
 * next, even when several rotations happened between two polls.
 */
export async function* followLog(
  path: string,
  options: { readonly clock: Clock; readonly signal: AbortSignal; readonly from: LogPosition | undefined },
): AsyncGenerator<string, void> {
  const { clock, signal } = options
  let part = openAt(path, options.from)
  try {
    while (!signal.aborted) {
      if (part !== undefined) yield* part.newLines()
      const successor = nextPart(path, part?.inode)
      if (successor !== undefined) {
        // Lines may have arrived between the last read and the rename.
        if (part !== undefined) yield* part.newLines()
        part?.close()
        part = openPart(successor, 0)
        continue
      }
      await clock.sleep(POLL_MS, { signal }).catch(ignoreAbort)
    }
  } finally {
    part?.close()
  }
}

/** An abort ends the sleep early; the loop then checks the signal. */
function ignoreAbort(): void {}

interface OpenPart {
  readonly inode: number
  newLines(): readonly string[]
  close(): void
}

/** Finds the part by its inode, because it may have been renamed since. */
function openAt(path: string, position: LogPosition | undefined): OpenPart | undefined {
  if (position === undefined) return undefined
  const found = logParts(path).find((part) => statSync(part, { throwIfNoEntry: false })?.ino === position.inode)
  return found === undefined ? undefined : openPart(found, position.offset)
}

function openPart(path: string, start: number): OpenPart | undefined {
  if (statSync(path, { throwIfNoEntry: false }) === undefined) return undefined
  const descriptor = openSync(path, "r")
  const { ino: inode } = fstatSync(descriptor)
  const decoder = new StringDecoder("utf8")
  const buffer = Buffer.alloc(CHUNK)
  let offset = start
  let incomplete = ""
  return {
    inode,
    newLines: () => {
      if (fstatSync(descriptor).size < offset) offset = 0
      for (;;) {
        const count = readSync(descriptor, buffer, 0, CHUNK, offset)
        if (count === 0) break
        offset += count
        incomplete += decoder.write(buffer.subarray(0, count))
      }
      const lines = incomplete.split("\n")
      incomplete = lines.pop() ?? ""
      return lines
    },
    close: () => closeSync(descriptor),
  }
}

/** The part that was created after the one with this inode; undefined while that one is the newest. */
function nextPart(path: string, inode: number | undefined): string | undefined {
  if (statSync(path, { throwIfNoEntry: false })?.ino === inode) return undefined
  let newer = path
  for (let index = 1; ; index += 1) {
    const stats = statSync(`${path}.${index}`, { throwIfNoEntry: false })
    if (stats === undefined) return statSync(path, { throwIfNoEntry: false }) === undefined ? undefined : path
    if (stats.ino === inode) return statSync(newer, { throwIfNoEntry: false }) === undefined ? undefined : newer
    newer = `${path}.${index}`
  }
}
