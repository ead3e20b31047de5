import { posix } from "node:path"

/** The files of one command: where it takes its state from and where it leaves its own. */
export interface StateTurn {
  readonly from: string | undefined
  readonly to: string
  /** The state in `to` is complete: later commands start from it. */
  adopt(): void
  /** Gives the files back; to be called exactly once, also after `adopt`. */
  release(): void
}

/**
 * Which file holds the state now. A command never writes into a file that another one may be reading, so a half-written state is never
 * read, and no lock or rename is needed. Where commands run side by side, the last one to end decides.
 */
export function createStateFiles(directory: string): {
  begin(): StateTurn
  /** The state as it is, for a command that leaves none. */
  current(): string | undefined
} {
  let current: string | undefined
  const inUse = new Map<string, number>()
  const use = (file: string, change: 1 | -1): void => {
    const left = (inUse.get(file) ?? 0) + change
    if (left === 0) inUse.delete(file)
    else inUse.set(file, left)
  }
  const free = (): string => {
    for (let number = 0; ; number += 1) {
      const file = posix.join(directory, `state-${number}`)
      if (file !== current && !inUse.has(file)) return file
    }
  }
  return {
    current: () => current,
    begin: () => {
      const from = current
      const to = free()
      const files = from === undefined ? [to] : [from, to]
      for (const file of files) use(file, 1)
      return {
        from,
        to,
        adopt: () => {
          current = to
        },
        release: () => {
          for (const file of files) use(file, -1)
        },
      }
    },
  }
}
