import { readdirSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"

import { isProcessAlive, processStartTime } from "../../base/process-alive.ts"
import { readRegularText } from "../../base/regular-file.ts"
import type { Worktree } from "./worktree.ts"

const MARKER_NAME = /^hermes-open-(\d+)$/u

/** Marks a worktree as used by this process, so that no other process removes it. */
export function markInUse({ gitDirectory }: Pick<Worktree, "gitDirectory">): void {
  writeFileSync(markerPath(gitDirectory, process.pid), processStartTime(process.pid))
}

export function clearInUse({ gitDirectory }: Pick<Worktree, "gitDirectory">): void {
  rmSync(markerPath(gitDirectory, process.pid), { force: true })
}

/** Whether another running process uses the worktree. */
export function isInUseElsewhere({ gitDirectory }: Pick<Worktree, "gitDirectory">): boolean {
  return markedProcesses(gitDirectory).some((pid) => pid !== process.pid && isRunning(pid, gitDirectory))
}

function markerPath(ownDirectory: string, pid: number): string {
  return join(ownDirectory, `hermes-open-${pid}`)
}

function markedProcesses(ownDirectory: string): readonly number[] {
  try {
    return readdirSync(ownDirectory).flatMap((name) => {
      const pid = MARKER_NAME.exec(name)?.[1]
      return pid === undefined ? [] : [Number(pid)]
    })
  } catch {
    // Git does not know the worktree, so it is not in use.
    return []
  }
}

function isRunning(pid: number, ownDirectory: string): boolean {
  return isProcessAlive(pid) && readRegularText(markerPath(ownDirectory, pid)) === processStartTime(pid)
}
