import { mkdirSync, rmSync, writeFileSync } from "node:fs"
import { dirname } from "node:path"

import type { Logger } from "../../base/logger.ts"
import { randomHex } from "../../base/random-and-hash.ts"
import { errorMessage } from "../../base/system-error.ts"
import type { Home } from "../../config/home.ts"
import type { OpenSessionOptions } from "../session/session-options.ts"

/** Nothing shows the warnings of a sub-agent or a background task: the conversation does. */
export function hasUser({ child, origin }: Pick<OpenSessionOptions, "child" | "origin">): boolean {
  return child === undefined && origin.surface !== "background"
}

/**
 * What the checks after commands found, for the user. A session without a user of its own, such as a sub-agent, leaves it to the
 * conversation. Until it was shown it is also on the disk, where the next process finds it if this one is killed.
 */
export interface CommandNotices {
  add(texts: readonly string[]): void
  /** Returns those that were not taken yet. Call `shown` when the user has seen them. */
  take(): readonly string[]
  shown(): void
}

export function createCommandNotices({
  home,
  log,
}: {
  readonly home: Pick<Home, "file">
  readonly log: Logger
}): CommandNotices {
  let waiting: string[] = []
  let taken: string[] = []
  let path: string | undefined
  const store = (): void => {
    const notices = [...taken, ...waiting]
    try {
      if (notices.length === 0) {
        if (path !== undefined) rmSync(path, { force: true })
        path = undefined
        return
      }
      path ??= home.file("cache", "sandbox", "running", `${process.pid}-${randomHex(6)}.json`)
      mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
      writeFileSync(path, JSON.stringify({ started: performance.timeOrigin, notices }), { mode: 0o600 })
    } catch (error) {
      log.warning(`notices about a command could not be stored: ${errorMessage(error)}`)
    }
  }
  return {
    add: (texts) => {
      if (texts.length === 0) return
      waiting.push(...texts)
      store()
    },
    take: () => {
      const texts = waiting
      taken.push(...texts)
      waiting = []
      return texts
    },
    shown: () => {
      if (taken.length === 0) return
      taken = []
      store()
    },
  }
}
