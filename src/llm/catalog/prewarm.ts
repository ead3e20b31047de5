import type { Clock } from "../../base/clock.ts"
import type { Environment } from "../../config/environment.ts"
import type { Home } from "../../config/home.ts"
import type { ChosenModel } from "../choose-model.ts"

/** Fetches in the background what an aggregator says about its models, once per app. The app owns it and closes it. */
export interface Prewarm {
  /** Called with the model of every session that opens; only the first one that calls for it does anything. */
  start(chosen: ChosenModel): void
  close(): void
}

export interface PrewarmOptions {
  readonly home: Home
  readonly environment: Environment
  readonly clock: Clock
  readonly version: string
  /** How long the first request of the session goes before it. */
  readonly delayMs?: number
}

const DELAY_MS = 300

/** Its list is long, changes daily and has prices and windows in it. */
const WARMED: ReadonlySet<string> = new Set(["openrouter"])

/** Neither its timer nor its connection keeps the process alive, and nobody hears of a failure: the list is asked for again when it is needed. */
export function createPrewarm(options: PrewarmOptions): Prewarm {
  const closing = new AbortController()
  let started = false
  let timer: NodeJS.Timeout | undefined
  const fetchList = async (chosen: ChosenModel): Promise<void> => {
    const [{ refreshModelList }, { isFresh, readCachedList }] = await Promise.all([
      import("./refresh-list.ts"),
      import("./list-cache.ts"),
    ])
    const known = readCachedList(options.home, chosen.runtime.baseUrl)
    if (known !== undefined && isFresh(known, options.clock.now())) return
    await refreshModelList(chosen, { ...options, signal: closing.signal, background: true })
  }
  return {
    start: (chosen) => {
      if (started || closing.signal.aborted || !WARMED.has(chosen.runtime.provider)) return
      started = true
      timer = setTimeout(() => {
        fetchList(chosen).catch(() => undefined)
      }, options.delayMs ?? DELAY_MS)
      timer.unref()
    },
    close: () => {
      clearTimeout(timer)
      closing.abort()
    },
  }
}
