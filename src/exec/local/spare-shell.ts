import { readFileSync } from "node:fs"

import type { LocalShell, WaitingShell } from "./local-command.ts"
import { placeMarks } from "../sandbox/place-marks.ts"
import { startWaitingShell } from "./waiting-shell.ts"

/** Somebody who has not asked for a command for so long can wait a few milliseconds for the next. */
const LONGEST_WAIT_MS = 5 * 60_000

export interface SpareShellOptions extends Pick<LocalShell, "shell" | "environment" | "takePipe"> {
  /** The walls that a command would get now. */
  readonly prefix: () => readonly string[] | undefined
}

export interface SpareShell {
  /** Starts one unless it is there. */
  prepare(): void
  /** The spare, for one command, if it has the walls that a shell started now would have. */
  take(): WaitingShell | undefined
  /** For good. */
  dispose(): void
}

/** One shell that is ready before it is needed: starting one takes longer than most commands, and the model's thinking is free time. */
export function createSpareShell(options: SpareShellOptions): SpareShell {
  let spare: { readonly shell: WaitingShell; readonly marks: string } | undefined
  let expiry: NodeJS.Timeout | undefined
  const remove = () => {
    const removed = spare
    spare = undefined
    clearTimeout(expiry)
    return removed
  }
  const discard = (): void => {
    remove()?.shell.discard()
  }
  let isOver = false
  const look = (): Walls => {
    const prefix = options.prefix()
    return { prefix, marks: describe(prefix) }
  }
  /** Seen a moment ago, for the command that has just begun. What has changed since is noticed before the next. */
  let seen: Walls | undefined
  return {
    prepare: () => {
      if (isOver || spare?.shell.isWaiting() === true) return
      discard()
      // Looked at before they are built: what changes meanwhile is noticed later.
      const { prefix, marks } = seen ?? look()
      seen = undefined
      const shell = startWaitingShell({ ...options, prefix, cwd: "/" })
      if (shell === undefined) return
      spare = { shell, marks }
      expiry = setTimeout(discard, LONGEST_WAIT_MS).unref()
    },
    take: () => {
      const taken = remove()
      if (taken === undefined) return undefined
      seen = look()
      if (taken.shell.isWaiting() && taken.marks === seen.marks) return taken.shell
      taken.shell.discard()
      return undefined
    },
    dispose: () => {
      isOver = true
      discard()
    },
  }
}

interface Walls {
  readonly prefix: readonly string[] | undefined
  readonly marks: string
}

/**
 * Equal for two moments when walls built at the first are as good at the second. The arguments say which places exist and how each is
 * covered. A place that was replaced has lost its cover, and a file system mounted meanwhile has none.
 */
function describe(prefix: readonly string[] | undefined): string {
  if (prefix === undefined) return ""
  return [...prefix, ...placeMarks(prefix), readFileSync("/proc/self/mountinfo", "latin1")].join("\0")
}
