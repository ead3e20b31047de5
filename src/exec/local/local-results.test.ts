import {
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from "node:fs"
import { dirname, join } from "node:path"
import { expect, test } from "vitest"
import { temporaryHome } from "../../../test/support/temporary-home.ts"
import { removeOldResults, saveResult } from "./local-results.ts"

const NOW = Date.parse("2026-03-10T12:00:00Z")
const HOUR = 3_600_000

test("a result is a new private file, and no part of its path may be a link", async () => {
  await using home = await temporaryHome()
  const root = join(realpathSync(home.path), "cache/hermes-results")
  const [first, second] = [saveResult(join(root, "one"), "text"), saveResult(join(root, "one"), "text")]
  expect([first === second, readFileSync(first, "utf8"), statSync(first).mode & 0o777]).toEqual([false, "text", 0o600])
  expect(statSync(dirname(first)).mode & 0o777).toBe(0o700)
  const documents = join(home.userHome, "Documents")
  mkdirSync(documents, { recursive: true })
  symlinkSync(documents, join(root, "two"))
  expect(() => saveResult(join(root, "two"), "text")).toThrow("not a directory")
  expect(() => saveResult(join(root, "two", "three"), "text")).toThrow("not a directory")
  expect(readdirSync(documents)).toEqual([])
})

test("old results are removed, and above the size limit the oldest; recent and other files and links stay", async () => {
  await using home = await temporaryHome()
  const root = join(realpathSync(home.path), "cache/hermes-results")
  const make = (path: string, hours: number, bytes: number): void => {
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, "")
    truncateSync(path, bytes)
    const at = new Date(NOW - hours * HOUR)
    utimesSync(path, at, at)
  }
  const result = (number: number): string => `result-${String(number).padStart(16, "0")}.txt`
  make(join(root, "a", result(1)), 2, 400_000_000)
  make(join(root, "b", result(2)), 30, 90_000_000)
  make(join(root, "a", result(3)), 50, 20_000_000)
  make(join(root, "c", result(4)), 8 * 24, 10)
  make(join(root, "b", "notes.txt"), 8 * 24, 10)
  const documents = join(home.userHome, "Documents")
  make(join(documents, result(5)), 8 * 24, 10)
  symlinkSync(documents, join(root, "linked"))
  symlinkSync(join(documents, result(5)), join(root, "b", result(6)))
  make(join(root, result(7)), 8 * 24, 10)
  expect(removeOldResults(root, NOW)).toBe(2)
  expect(readdirSync(root, { recursive: true, encoding: "utf8" }).toSorted()).toEqual(
    [
      "a",
      `a/${result(1)}`,
      "b",
      "b/notes.txt",
      `b/${result(2)}`,
      `b/${result(6)}`,
      "linked",
      `linked/${result(5)}`,
      result(7),
    ].toSorted(),
  )
  expect(readdirSync(documents)).toEqual([result(5)])
  expect(removeOldResults(join(root, "missing"), NOW)).toBe(0)
})
