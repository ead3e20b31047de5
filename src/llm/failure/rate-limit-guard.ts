import { mkdirSync, readFileSync, rmSync } from "node:fs"
import { dirname } from "node:path"

import { writeFileAtomic } from "../../base/atomic-file.ts"
import type { Clock } from "../../base/clock.ts"
import { isRecord, parseJson } from "../../base/json.ts"
import type { Logger } from "../../base/logger.ts"
import { explainSystemError } from "../../base/system-error.ts"
import type { Home } from "../../config/home.ts"
import type { RateLimitGuard } from "../route.ts"

/** Assumed where a limit is used up and nobody says for how long. */
const USUAL_REST_SECONDS = 300

/**
 * `<home>/rate_limits/<provider>.json`: one process was told that the account's limit is used up, and the others need not ask. The
 * Python edition reads and writes the same file.
 */
export function openRateLimitGuard(
  provider: string,
  { home, clock, log }: { readonly home: Home; readonly clock: Clock; readonly log: Logger },
): RateLimitGuard {
  const path = home.file("rate_limits", `${provider}.json`)
  const attempt = (what: string, work: () => void): void => {
    try {
      work()
    } catch (error) {
      log.warning(`${what}: ${explainSystemError(error)}`)
    }
  }
  return {
    restsUntil: () => {
      const until = readResetAt(path)
      return until !== undefined && until > clock.now() / 1000 ? until : undefined
    },
    record: (seconds) => {
      const resetSeconds = seconds > 0 ? seconds : USUAL_REST_SECONDS
      const now = clock.now() / 1000
      attempt(`the used-up limit of ${provider} could not be kept for other processes`, () => {
        mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
        writeFileAtomic(
          path,
          JSON.stringify({ reset_at: now + resetSeconds, recorded_at: now, reset_seconds: resetSeconds }),
        )
      })
    },
    clear: () => {
      attempt(`${path} could not be removed`, () => {
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
    // Absent or unreadable: nothing is known to be used up.
    return undefined
  }
}
