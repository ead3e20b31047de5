import { mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, beforeEach, expect, test } from "vitest"
import { makeDirectories } from "./make-directories.ts"

let place: string
beforeEach(() => (place = mkdtempSync(join(tmpdir(), "hermes-directories-"))))
afterEach(() => rmSync(place, { recursive: true, force: true }))

test("makes all missing parents with the mode, and names the topmost new one", () => {
  expect(makeDirectories(join(place, "a/b/c"), 0o750)).toBe(join(place, "a"))
  expect(["a", "a/b", "a/b/c"].map((path) => statSync(join(place, path)).mode & 0o777)).toEqual([0o750, 0o750, 0o750])
  expect(makeDirectories(join(place, "a/b/c"))).toBeUndefined()
})

test("a file in the way is an error", () => {
  writeFileSync(join(place, "file"), "")
  expect(() => makeDirectories(join(place, "file"))).toThrow("EEXIST")
  expect(() => makeDirectories(join(place, "file/below"))).toThrow("ENOTDIR")
})

test.runIf(process.platform === "linux")("a place that takes no directories is an error, not an endless loop", () => {
  expect(() => makeDirectories("/proc/hermes/below")).toThrow("ENOENT")
})
