import { mkdirSync, readFileSync, rmSync } from "node:fs"
import { dirname } from "node:path"

import { writeFileAtomic } from "../../base/atomic-file.ts"
import type { Clock } from "../../base/clock.ts"
import { isRecord, parseJson } from "../../base/json.ts"
import type { Logger } from "../../base/logger.ts"
import { explainSystemError } from "../../base/system-error.ts"
import type { Home } from "../../config/home.ts"
import type { RateLimitGuard } from "../route.ts"

/** Used when the server does not send a reset time. */
const DEFAULT_RESET_SECONDS = 300

/**
 * Shares an exhausted rate limit of the account between processes in `<home>/rate_limits/<provider>.json`. The Python
 * edition reads and writes the same file.
 */
export function openRateLimitGuard(
  provider: string,
  { home, clock, log }: { readonly home: Home; readonly clock: Clock; readonly log: Logger },
): RateLimitGuard {
  const path = home.file("rate_limits", `${provider}.json`)
  const attempt = (failureText: string, work: () => void): void => {
    try {
      work()
    } catch (error) {
      log.warning(`${failureText}: ${explainSystemError(error)}`)
    }
  }
  return {
    blockedUntil: () => {
      const until = readResetAt(path)
      return until !== undefined && until > clock.now() / 1000 ? until : undefined
    },
    record: (seconds) => {
      const resetSeconds = seconds > 0 ? seconds : DEFAULT_RESET_SECONDS
      const now = clock.now() / 1000
      attempt(`cannot share the exhausted rate limit of ${provider} with other processes`, () => {
        mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
        writeFileAtomic(
          path,
          JSON.stringify({ reset_at: now + resetSeconds, recorded_at: now, reset_seconds: resetSeconds }),
        )
      })
    },
    clear: () => {
      attempt(`cannot remove ${path}`, () => {
        rmSync(path, { force: true })
      })
    },
  }
}

function readResetAt(path: string): number | undefined {
  try {
    const parsed = parseJson(readFileSync(path, "utf8"))
    const at = isRecord(parsed) ? parsed["reset_at"] : undefined
    return typeof at === "number" ? at : undefined
  } catch {
    // Absent or unreadable: no limit is known to be exhausted.
    return undefined
  }
}
