import { existsSync, mkdirSync, rmSync, utimesSync } from "node:fs"
import { dirname, join } from "node:path"
import { expect, test } from "vitest"
import { makeMemoryDirectory, removeMemoryDirectory } from "./memory-directory.ts"

const DAY_MS = 24 * 3600_000
/** More than any system gives out. */
const NOBODY = 2 ** 22 + 1

test("a directory goes with its conversation, and takes along what killed ones have left behind, at once where their numbers are ours", () => {
  const own = makeMemoryDirectory("shell")
  const place = dirname(own)
  const now = Date.now()
  const make = (name: string, ageMs: number): string => {
    const path = join(place, name)
    mkdirSync(path)
    utimesSync(path, (now - ageMs) / 1000, (now - ageMs) / 1000)
    return path
  }
  const [, namespace = ""] = /hermes-shell-(\d+)-/u.exec(own) ?? []
  const left = [
    make(`hermes-shell-${namespace}-${NOBODY}-Ab3dEf`, 0),
    make(`hermes-pipes-1${namespace}-${NOBODY}-Ab3dEf`, DAY_MS + 1000),
  ]
  const kept = [
    make(`hermes-shell-1${namespace}-${NOBODY}-young1`, DAY_MS - 60_000),
    make(`hermes-shell-${namespace}-${process.pid}-runs12`, 2 * DAY_MS),
    make(`hermes-other-${namespace}-${NOBODY}-Ab3dEf`, 2 * DAY_MS),
  ]
  try {
    removeMemoryDirectory(own, now)
    expect([own, ...left, ...kept].map((path) => existsSync(path))).toEqual([false, false, false, true, true, true])
  } finally {
    for (const path of [...left, ...kept]) rmSync(path, { recursive: true, force: true })
  }
})
