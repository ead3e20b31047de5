import { posix } from "node:path"

/** The state files of one command. */
export interface CommandStateFiles {
  /** The state to start from; undefined for the first command. */
  readonly from: string | undefined
  /** The file to write the new state to. */
  readonly to: string
  /** Makes the state in `to` the current one. Call it only when that state is complete. */
  commit(): void
  /** Releases both files for reuse. Call it exactly once, even after `commit`. */
  release(): void
}

/**
 * Hands out state files. A command never writes to a file that another one may be reading, so no half-written state is read and neither
 * locks nor renames are needed. Of commands that run concurrently, the last one to end wins.
 */
export function createStateFiles(directory: string): {
  begin(): CommandStateFiles
  /** The current state, for a command that leaves none. */
  current(): string | undefined
} {
  let current: string | undefined
  const useCounts = new Map<string, number>()
  const addUse = (file: string, change: 1 | -1): void => {
    const count = (useCounts.get(file) ?? 0) + change
    if (count === 0) useCounts.delete(file)
    else useCounts.set(file, count)
  }
  const unusedFile = (): string => {
    for (let number = 0; ; number += 1) {
      const file = posix.join(directory, `state-${number}`)
      if (file !== current && !useCounts.has(file)) return file
    }
  }
  return {
    current: () => current,
    begin: () => {
      const from = current
      const to = unusedFile()
      const files = from === undefined ? [to] : [from, to]
      for (const file of files) addUse(file, 1)
      return {
        from,
        to,
        commit: () => {
          current = to
        },
        release: () => {
          for (const file of files) addUse(file, -1)
        },
      }
    },
  }
}
