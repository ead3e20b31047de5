import type { Clock } from "../base/clock.ts"
import type { Logger } from "../base/logger.ts"
import type { ReportProgress } from "../base/progress.ts"
import type { Environment } from "../config/environment.ts"
import type { Home } from "../config/home.ts"

/** What every operation on a home receives from its surface. */
export interface HomeContext {
  readonly home: Home
  /** The variables of the process. `loadSettings` adds those of the home's `.env`. */
  readonly environment: Environment
  readonly clock: Clock
  readonly log: Logger
  /** Shows the user a sentence about something that the operation had to do besides, such as repairing a file. */
  readonly notify?: (sentence: string) => void
  /** Shows the user how far a long operation is. Absent outside a terminal. */
  readonly progress?: ReportProgress
}
