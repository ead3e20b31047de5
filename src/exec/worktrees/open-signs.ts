import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"

import { isProcessAlive, processStart } from "../../base/process-alive.ts"
import type { Worktree } from "./worktree.ts"

const SIGN = /^hermes-open-(\d+)$/u

/** That this process works in a worktree, so that no other removes it. */
export function enterWorktree({ ownDirectory }: Pick<Worktree, "ownDirectory">): void {
  writeFileSync(signPath(ownDirectory, process.pid), processStart(process.pid))
}

export function exitWorktree({ ownDirectory }: Pick<Worktree, "ownDirectory">): void {
  rmSync(signPath(ownDirectory, process.pid), { force: true })
}

/** Another living process that works in it. */
export function isOpenElsewhere({ ownDirectory }: Pick<Worktree, "ownDirectory">): boolean {
  return pidsIn(ownDirectory).some((pid) => pid !== process.pid && isSame(pid, ownDirectory))
}

function signPath(ownDirectory: string, pid: number): string {
  return join(ownDirectory, `hermes-open-${pid}`)
}

function pidsIn(ownDirectory: string): readonly number[] {
  try {
    return readdirSync(ownDirectory).flatMap((name) => {
      const pid = SIGN.exec(name)?.[1]
      return pid === undefined ? [] : [Number(pid)]
    })
  } catch {
    // Git keeps nothing about it, so nobody works in it.
    return []
  }
}

function isSame(pid: number, ownDirectory: string): boolean {
  try {
    return isProcessAlive(pid) && readFileSync(signPath(ownDirectory, pid), "utf8") === processStart(pid)
  } catch {
    // It left in this very moment.
    return false
  }
}
