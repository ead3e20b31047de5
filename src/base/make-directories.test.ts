import { existsSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, beforeEach, expect, test } from "vitest"
import { makeDirectories, removeCreatedDirectories } from "./make-directories.ts"
import { NOT_LINUX, titleWithReason } from "../../test/support/skip-reason.ts"

let directory: string
beforeEach(() => (directory = mkdtempSync(join(tmpdir(), "hermes-directories-"))))
afterEach(() => rmSync(directory, { recursive: true, force: true }))

test("creates all missing parents with the mode and returns the topmost new one", () => {
  expect(makeDirectories(join(directory, "a/b/c"), 0o750)).toBe(join(directory, "a"))
  expect(["a", "a/b", "a/b/c"].map((path) => statSync(join(directory, path)).mode & 0o777)).toEqual([
    0o750, 0o750, 0o750,
  ])
  expect(makeDirectories(join(directory, "a/b/c"))).toBeUndefined()
})

test("removes what was created, but nothing that is in use or existed before", () => {
  mkdirSync(join(directory, "old"))
  removeCreatedDirectories(join(directory, "old/a/b"), makeDirectories(join(directory, "old/a/b"))!)
  expect(["old", "old/a"].map((path) => existsSync(join(directory, path)))).toEqual([true, false])
  const topmost = makeDirectories(join(directory, "new/a/b"))!
  writeFileSync(join(directory, "new/used"), "")
  removeCreatedDirectories(join(directory, "new/a/b"), topmost)
  expect(["new", "new/a"].map((path) => existsSync(join(directory, path)))).toEqual([true, false])
})

test("an invalid name leaves no new parents", () => {
  expect(() => makeDirectories(join(directory, "a/b", "x".repeat(300)))).toThrow("ENAMETOOLONG")
  expect(existsSync(join(directory, "a"))).toBe(false)
})

test("an existing file is an error", () => {
  writeFileSync(join(directory, "file"), "")
  expect(() => makeDirectories(join(directory, "file"))).toThrow("EEXIST")
  expect(() => makeDirectories(join(directory, "file/below"))).toThrow("ENOTDIR")
})

test.skipIf(NOT_LINUX !== undefined)(
  titleWithReason("a directory that cannot have children is an error, not an endless loop", NOT_LINUX),
  () => {
    expect(() => makeDirectories("/proc/hermes/below")).toThrow("ENOENT")
  },
)
