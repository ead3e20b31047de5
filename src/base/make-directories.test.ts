import { existsSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, beforeEach, expect, test } from "vitest"
import { makeDirectories, removeMade } from "./make-directories.ts"

let place: string
beforeEach(() => (place = mkdtempSync(join(tmpdir(), "hermes-directories-"))))
afterEach(() => rmSync(place, { recursive: true, force: true }))

test("makes all missing parents with the mode, and names the topmost new one", () => {
  expect(makeDirectories(join(place, "a/b/c"), 0o750)).toBe(join(place, "a"))
  expect(["a", "a/b", "a/b/c"].map((path) => statSync(join(place, path)).mode & 0o777)).toEqual([0o750, 0o750, 0o750])
  expect(makeDirectories(join(place, "a/b/c"))).toBeUndefined()
})

test("what was made is taken back, but nothing that is used or was there before", () => {
  mkdirSync(join(place, "old"))
  removeMade(join(place, "old/a/b"), makeDirectories(join(place, "old/a/b"))!)
  expect(["old", "old/a"].map((path) => existsSync(join(place, path)))).toEqual([true, false])
  const topmost = makeDirectories(join(place, "new/a/b"))!
  writeFileSync(join(place, "new/used"), "")
  removeMade(join(place, "new/a/b"), topmost)
  expect(["new", "new/a"].map((path) => existsSync(join(place, path)))).toEqual([true, false])
})

test("a name that cannot be had leaves no new parents", () => {
  expect(() => makeDirectories(join(place, "a/b", "x".repeat(300)))).toThrow("ENAMETOOLONG")
  expect(existsSync(join(place, "a"))).toBe(false)
})

test("a file in the way is an error", () => {
  writeFileSync(join(place, "file"), "")
  expect(() => makeDirectories(join(place, "file"))).toThrow("EEXIST")
  expect(() => makeDirectories(join(place, "file/below"))).toThrow("ENOTDIR")
})

test.runIf(process.platform === "linux")("a place that takes no directories is an error, not an endless loop", () => {
  expect(() => makeDirectories("/proc/hermes/below")).toThrow("ENOENT")
})
