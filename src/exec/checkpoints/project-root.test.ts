import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

import { afterEach, beforeEach, expect, test } from "vitest"

import { projectRoot, realDirectory, whyNoCheckpoints } from "./project-root.ts"

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
  ["/home/alice/.hermes", /Hermes' own files/],
  ["/usr", /directories of the system/],
  ["/usr/share/doc", /directories of the system/],
  ["/etc/nginx", /directories of the system/],
  ["/opt", /directories of the system/],
  ["/tmp", /directories of the system/],
  ["/opt/site", undefined],
  ["/tmp/x", undefined],
  ["/app", undefined],
  ["/home/alice/notes", undefined],
])("whether %s gets checkpoints", (path, why) => {
  const reason = whyNoCheckpoints(path, { userHome: "/home/alice", home: "/home/alice/.hermes" })
  if (why === undefined) expect(reason).toBeUndefined()
  else expect(reason).toMatch(why)
})

test("the nearest directory with the mark of a project is meant, else the directory itself", () => {
  mkdirSync(join(root, "project/src/deep"), { recursive: true })
  writeFileSync(join(root, "project/package.json"), "{}")
  mkdirSync(join(root, "plain/below"), { recursive: true })
  expect(projectRoot(join(root, "project/src/deep"), "/home/alice")).toBe(join(root, "project"))
  expect(projectRoot(join(root, "plain/below"), "/home/alice")).toBe(join(root, "plain/below"))
})

test("a path that cannot be looked at lies in the nearest directory that can", () => {
  symlinkSync("loop", join(root, "loop"))
  expect([
    realDirectory(join(root, "loop")),
    realDirectory(join(root, "loop/below")),
    realDirectory(join(root, "nul\0l")),
  ]).toEqual([root, root, root])
})
