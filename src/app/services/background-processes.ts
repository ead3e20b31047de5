import { existsSync } from "node:fs"

import type { Clock } from "../../base/clock.ts"
import type { Logger } from "../../base/logger.ts"
import type { Redactor } from "../../base/redact.ts"
import { errorMessage } from "../../base/system-error.ts"
import type { Home } from "../../config/home.ts"
import type { ProcessRegistry } from "../../exec/background/process-registry.ts"
import type { ProcessView } from "../../exec/background/process-view.ts"

/** The background processes of an app. On first use it looks for processes that a killed Hermes left running. */
export interface BackgroundProcesses {
  open(): Promise<ProcessRegistry>
  /** How many are running, of those that this app knows of. */
  running(): number
  /** Those that this app knows of, or those of one owner and those that outlived a killed Hermes. */
  list(owner?: string): readonly ProcessView[]
  /** Those that outlived a killed Hermes. The registry is not opened for it. */
  survivors(): Promise<readonly { readonly command: string; readonly pid: number }[]>
  /** Resolves when the process has exited. */
  exited(id: string): Promise<void>
  /** The next notice for a session; undefined when there is none. */
  takeNotice(owner: string): string | undefined
  /** Resolves when there is one, or when the signal aborts. */
  waitForNotice(owner: string, signal: AbortSignal): Promise<void>
  /** Kills what a session has started and that still runs. */
  killOwned(owner: string, source: string): Promise<void>
  close(): Promise<void>
}

export function createBackgroundProcesses(options: {
  readonly home: Home
  readonly clock: Clock
  readonly log: Logger
  readonly redactor: Redactor
}): BackgroundProcesses {
  const { home, clock, log, redactor } = options
  let opened: ProcessRegistry | undefined
  let opening: Promise<ProcessRegistry> | undefined
  const create = async (): Promise<ProcessRegistry> => {
    const { createProcessRegistry } = await import("../../exec/background/process-registry.ts")
    const registry = createProcessRegistry({
      clock,
      file: home.file("processes.json"),
      log,
      redact: (text) => redactor.redact(text),
    })
    try {
      await registry.recover()
    } catch (error) {
      log.warning(`earlier background processes could not be found again: ${errorMessage(error)}`)
    }
    opened = registry
    return registry
  }
  return {
    open: () => (opening ??= create()),
    list: (owner) => opened?.list(owner) ?? [],
    exited: async (id) => {
      await opened?.exited(id)
    },
    running: () => opened?.list().filter(({ state }) => state.status === "running").length ?? 0,
    survivors: async () => {
      const file = home.file("processes.json")
      if (opened !== undefined || !existsSync(file)) return []
      const { findSurvivors } = await import("../../exec/background/process-file.ts")
      return findSurvivors(file).map(({ command, pid }) => ({ command: redactor.redact(command), pid }))
    },
    takeNotice: (owner) => opened?.notices.take(owner),
    waitForNotice: async (owner, signal) => {
      // If a turn opens the registry in the meantime, the caller waits again when that turn has ended.
      if (opened !== undefined) await opened.notices.waitForOne(signal, owner)
      else await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }))
    },
    killOwned: async (owner, source) => {
      await (await opening)?.killOwned(owner, source)
    },
    close: async () => {
      await (await opening?.catch(() => undefined))?.close()
    },
  }
}
