import type { Clock } from "../../base/clock.ts"
import type { Environment } from "../../config/environment.ts"
import type { Home } from "../../config/home.ts"
import type { ChosenModel } from "../choose-model.ts"

/** Fetches an aggregator's model list in the background, once per app. The app owns it and closes it. */
export interface ModelListPrewarm {
  /** Call it with the model of every session that opens; only the first suitable model starts a fetch. */
  start(chosen: ChosenModel): void
  close(): void
}

export interface PrewarmOptions {
  readonly home: Home
  readonly environment: Environment
  readonly clock: Clock
  readonly version: string
  /** The delay before the fetch, so that the session's first request is sent before it. */
  readonly delayMs?: number
}

const DELAY_MS = 300

/** Providers whose list is long, changes daily and contains prices and context windows. */
const PREWARMED: ReadonlySet<string> = new Set(["openrouter"])

/** Its timer and connection do not keep the process alive. Failures are ignored: the list is fetched again when needed. */
export function createModelListPrewarm(options: PrewarmOptions): ModelListPrewarm {
  const closing = new AbortController()
  let started = false
  let timer: NodeJS.Timeout | undefined
  const fetchList = async (chosen: ChosenModel): Promise<void> => {
    const [{ refreshModelList }, { isFresh, readCachedList }] = await Promise.all([
      import("./refresh-model-list.ts"),
      import("./model-list-cache.ts"),
    ])
    const cached = readCachedList(options.home, chosen.runtime.baseUrl)
    if (cached !== undefined && isFresh(cached, options.clock.now())) return
    await refreshModelList(chosen, { ...options, signal: closing.signal, background: true })
  }
  return {
    start: (chosen) => {
      if (started || closing.signal.aborted || !PREWARMED.has(chosen.runtime.provider)) return
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
