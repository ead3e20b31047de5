import { closeSync, fstatSync, openSync, readSync, statSync } from "node:fs"
import { StringDecoder } from "node:string_decoder"
import type { Clock } from "../../base/clock.ts"
import { logParts, type LogMark } from "./log-files.ts"

const POLL_MS = 200
const CHUNK = 64 * 1024

/**
 * New whole lines of a log as they are written, until the signal aborts. A file that was renamed is read to its end before
 * the next one begins, also when several rotations happened between two looks.
 */
export async function* followLog(
  path: string,
  options: { readonly clock: Clock; readonly signal: AbortSignal; readonly from: LogMark | undefined },
): AsyncGenerator<string, void> {
  const { clock, signal } = options
  let part = openMarked(path, options.from)
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

/** The sleep ends early when the person stops following, which the loop sees by itself. */
function ignoreAbort(): void {}

interface OpenPart {
  readonly inode: number
  newLines(): readonly string[]
  close(): void
}

/** The part that the mark is in may have been renamed since. */
function openMarked(path: string, mark: LogMark | undefined): OpenPart | undefined {
  if (mark === undefined) return undefined
  const marked = logParts(path).find((part) => statSync(part, { throwIfNoEntry: false })?.ino === mark.inode)
  return marked === undefined ? undefined : openPart(marked, mark.offset)
}

function openPart(path: string, start: number): OpenPart | undefined {
  if (statSync(path, { throwIfNoEntry: false }) === undefined) return undefined
  const descriptor = openSync(path, "r")
  const { ino: inode } = fstatSync(descriptor)
  const decoder = new StringDecoder("utf8")
  const buffer = Buffer.alloc(CHUNK)
  let position = start
  let rest = ""
  return {
    inode,
    newLines: () => {
      if (fstatSync(descriptor).size < position) position = 0
      for (;;) {
        const count = readSync(descriptor, buffer, 0, CHUNK, position)
        if (count === 0) break
        position += count
        rest += decoder.write(buffer.subarray(0, count))
      }
      const lines = rest.split("\n")
      rest = lines.pop() ?? ""
      return lines
    },
    close: () => closeSync(descriptor),
  }
}

/** The part that was begun after the one with this inode; undefined while that one is still the newest. */
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
