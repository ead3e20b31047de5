import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

import { afterEach, beforeEach, expect, test } from "vitest"

import { projectRoot, nearestExistingDirectory, unsupportedRootReason } from "./project-root.ts"

let root = ""
beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), "hermes-root-")))
})
afterEach(() => {
  rmSync(root, { recursive: true, force: true })
})

test.each([
  ["/", /root of the file system/],
  ["/home/alice", /home directory/],
  ["/home", /home directory/],
  ["/home/alice/.hermes", /Hermes home directory/],
  ["/home/alice/.hermes/checkpoints/store", /Hermes home directory/],
  ["/usr", /system directories/],
  ["/usr/share/doc", /system directories/],
  ["/etc/nginx", /system directories/],
  ["/opt", /system directories/],
  ["/tmp", /system directories/],
  ["/opt/site", undefined],
  ["/tmp/x", undefined],
  ["/app", undefined],
  ["/home/alice/notes", undefined],
])("why %s is excluded from checkpoints: %s", (path, expected) => {
  const reason = unsupportedRootReason(path, { userHome: "/home/alice", home: "/home/alice/.hermes" })
  if (expected === undefined) expect(reason).toBeUndefined()
  else expect(reason).toMatch(expected)
})

test("the project root is the nearest directory with a marker, otherwise the directory itself", () => {
  mkdirSync(join(root, "project/src/deep"), { recursive: true })
  writeFileSync(join(root, "project/package.json"), "{}")
  mkdirSync(join(root, "plain/below"), { recursive: true })
  expect(projectRoot(join(root, "project/src/deep"), "/home/alice")).toBe(join(root, "project"))
  expect(projectRoot(join(root, "plain/below"), "/home/alice")).toBe(join(root, "plain/below"))
})

test("an unreadable path resolves to the nearest readable directory above it", () => {
  symlinkSync("loop", join(root, "loop"))
  expect([
    nearestExistingDirectory(join(root, "loop")),
    nearestExistingDirectory(join(root, "loop/below")),
    nearestExistingDirectory(join(root, "nul\0l")),
  ]).toEqual([root, root, root])
})
