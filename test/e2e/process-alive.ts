import { readFileSync } from "node:fs"

import { expect } from "vitest"

import { errorCode, isNotFound } from "../../src/base/system-error.ts"

/** Returns false for zombies too: a killed process stays one until its parent has reaped it. */
export function isAlive(pid: number): boolean {
  try {
    return !/^\d+ \(.*\) [ZX]/s.test(readFileSync(`/proc/${pid}/stat`, "utf8"))
  } catch (error) {
    if (isNotFound(error) || errorCode(error) === "ESRCH") return false
    throw error
  }
}

/** Waits: an interrupt is reported before a slow process has exited, and a killed one needs a moment too. */
export async function expectExited(pid: number): Promise<void> {
  await expect.poll(() => isAlive(pid), { timeout: 5000, interval: 10 }).toBe(false)
}
