import { AsyncLocalStorage } from "node:async_hooks"
import { mkdirSync } from "node:fs"

import { withFileLock } from "../../base/file-lock.ts"
import { ensureStore } from "./store-files.ts"
import type { StorePaths } from "./store-files.ts"

/** The lock of the checkpoint store, which excludes other processes and the other work of this one. */
export interface StoreLock {
  hold<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T>
  /** Like `hold`, for a scan: while it runs, `join` does not wait for it. */
  holdForScan<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T>
  /** Runs `work` next to a scan of this process, which then keeps the lock until `work` has ended, or else like `hold`. */
  join<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T>
}

const LOCK_WAIT_MS = 15_000

interface RunningScan {
  readonly run: ReturnType<typeof AsyncLocalStorage.snapshot>
  /** The store exists. */
  readonly ready: Promise<void>
  readonly guests: Set<Promise<unknown>>
}

export function createStoreLock(paths: StorePaths): StoreLock {
  let scan: RunningScan | undefined
  const hold = async <T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> => {
    mkdirSync(paths.directory, { recursive: true, mode: 0o700 })
    return await withFileLock(paths.lockPath, { waitMs: LOCK_WAIT_MS, signal }, work)
  }
  return {
    hold,
    holdForScan: (signal, work) =>
      hold(signal, async () => {
        const ready = ensureStore(paths, signal)
        const current: RunningScan = { run: AsyncLocalStorage.snapshot(), guests: new Set<Promise<unknown>>(), ready }
        scan = current
        try {
          await ready
          return await work()
        } finally {
          scan = undefined
          await Promise.allSettled(current.guests)
        }
      }),
    join: async (signal, work) => {
      if (scan === undefined) return await hold(signal, work)
      const { run, guests, ready } = scan
      const guest = ready.then(() => run(work))
      guests.add(guest)
      try {
        return await guest
      } finally {
        guests.delete(guest)
      }
    },
  }
}
