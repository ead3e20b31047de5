import { existsSync, mkdirSync, rmSync, utimesSync } from "node:fs"
import { dirname, join } from "node:path"
import { expect, test } from "vitest"
import { createMemoryDirectory, removeMemoryDirectory } from "./ram-directory.ts"

const DAY_MS = 24 * 3600_000
/** Above the highest process id that Linux assigns. */
const UNUSED_PID = 2 ** 22 + 1

test("removing a directory also removes those of dead processes: at once in the same PID namespace, else after a day", () => {
  const own = createMemoryDirectory("shell")
  const parent = dirname(own)
  const now = Date.now()
  const make = (name: string, ageMs: number): string => {
    const path = join(parent, name)
    mkdirSync(path)
    utimesSync(path, (now - ageMs) / 1000, (now - ageMs) / 1000)
    return path
  }
  const [, namespace = ""] = /hermes-shell-(\d+)-/u.exec(own) ?? []
  const stale = [
    make(`hermes-shell-${namespace}-${UNUSED_PID}-Ab3dEf`, 0),
    make(`hermes-pipes-1${namespace}-${UNUSED_PID}-Ab3dEf`, DAY_MS + 1000),
  ]
  const kept = [
    make(`hermes-shell-1${namespace}-${UNUSED_PID}-young1`, DAY_MS - 60_000),
    make(`hermes-shell-${namespace}-${process.pid}-runs12`, 2 * DAY_MS),
    make(`hermes-other-${namespace}-${UNUSED_PID}-Ab3dEf`, 2 * DAY_MS),
  ]
  try {
    removeMemoryDirectory(own, now)
    expect([own, ...stale, ...kept].map((path) => existsSync(path))).toEqual([false, false, false, true, true, true])
  } finally {
    for (const path of [...stale, ...kept]) rmSync(path, { recursive: true, force: true })
  }
})
