import type { Row, Size } from "../drawing.ts"
import { FRAME_MS } from "../render/spinner.ts"

/** What the live area shows above the editor while the user waits. */
export interface Activity {
  rows(size: Size): readonly Row[]
  /** By the working clock, which stands still while a question is open. */
  readonly startedAt: number
}

/** The running turn or command, and the timer that moves spinners and countdowns only while there are any. */
export interface ActivityView {
  readonly current: Activity | undefined
  start(activity: Activity): void
  stop(activity: Activity): void
  /** A question was opened or closed: it may have a countdown. */
  questionsChanged(): void
  close(): void
}

export function createActivityView(options: {
  readonly isAsking: () => boolean
  readonly changed: () => void
}): ActivityView {
  let current: Activity | undefined
  let ticker: NodeJS.Timeout | undefined
  const keepTime = (): void => {
    if (current !== undefined || options.isAsking()) {
      ticker ??= setInterval(options.changed, FRAME_MS).unref()
      return
    }
    clearInterval(ticker)
    ticker = undefined
  }
  const set = (activity: Activity | undefined): void => {
    current = activity
    keepTime()
    options.changed()
  }
  return {
    get current() {
      return current
    },
    start: set,
    stop: (activity) => set(current === activity ? undefined : current),
    questionsChanged: keepTime,
    close: () => clearInterval(ticker),
  }
}
