import { existsSync } from "node:fs"

import { orAborted } from "../../base/abort.ts"
import type { Services } from "../services/services.ts"
import { createBackgroundTask } from "./background-task.ts"

/** Fills the semantic index while no turn runs. */
export interface MessageIndexing {
  /** A search was made: the next pause is used for indexing, also in a home that has no index yet. */
  request(): void
  /** A turn starts. */
  pause(): void
  /** A turn has ended. */
  resume(): void
  close(): Promise<void>
}

/** Work between two looks at whether a turn has started. */
const SLICE_MS = 30
const REST_MS = 20
/** Without a search, indexing starts only when the user takes a while, so that a one-shot does not pay for it. */
const IDLE_MS = 3000
/** How long closing waits for indexing that a search requested. */
const CLOSE_MS = 300

export function createMessageIndexing(services: Services): MessageIndexing {
  const { clock, config, home, log } = services
  const task = createBackgroundTask("indexing messages for search", log)
  let requested = false
  let isBroken = false
  let pausing = new AbortController()

  const work = async (stopping: AbortSignal): Promise<void> => {
    isBroken = true
    await fillIndex(stopping)
    isBroken = false
  }
  const fillIndex = async (stopping: AbortSignal): Promise<void> => {
    const signal = AbortSignal.any([stopping, pausing.signal])
    if (!requested && !(await slept(IDLE_MS, signal))) return
    const [search, store, { isSearchCall }] = await Promise.all([
      services.semanticSearch(),
      services.store(),
      import("../../tools/session-search/search-tool.ts"),
    ])
    for (let complete = false; !complete && !signal.aborted;) {
      const outcome = await search.syncSessions(store, { budgetMs: SLICE_MS, signal, isSearchCall })
      const { more } = signal.aborted ? { more: false } : await search.embedMissing(signal)
      complete = outcome.complete && !more
      if (!complete && !(await slept(REST_MS, signal))) return
    }
  }
  const slept = async (ms: number, signal: AbortSignal): Promise<boolean> => {
    if (signal.aborted) return false
    await clock.sleep(ms, { signal }).catch(() => undefined) // the abort is checked below
    return !signal.aborted
  }

  return {
    request: () => {
      requested = true
    },
    pause: () => pausing.abort(),
    resume: () => {
      pausing = new AbortController()
      const isUsed = requested || config.get("memory.semantic.enabled") || existsSync(home.file("memory_index.db"))
      // An index that cannot be used is reported once.
      if (isUsed && (!isBroken || task.isRunning())) task.start(work)
    },
    close: async () => {
      if (requested) await orAborted(task.settled(), AbortSignal.timeout(CLOSE_MS))
      pausing.abort()
      await task.stop()
    },
  }
}
