import { execFileSync } from "node:child_process"
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

import { expect, test } from "vitest"

import { createStagingDirectory } from "./staging-directory.ts"

test("the directory is private, has the files, and is removed", () => {
  const root = mkdtempSync(join(tmpdir(), "staging-"))
  const staging = createStagingDirectory({ "script.py": "print(1)" }, root)
  expect(statSync(staging.path).mode & 0o777).toBe(0o700)
  expect(statSync(join(staging.path, "script.py")).mode & 0o777).toBe(0o600)
  staging.remove()
  expect(readdirSync(root)).toEqual([])
  rmSync(root, { recursive: true })
})

test("directories of processes that have ended are removed, others stay", () => {
  const root = mkdtempSync(join(tmpdir(), "staging-"))
  const running = createStagingDirectory({}, root)
  const directory = (name: string, owner?: string): string => {
    const path = join(root, name)
    mkdirSync(path)
    if (owner !== undefined) writeFileSync(join(path, ".owner"), owner)
    return path
  }
  const dead = directory("hermes_sandbox_dead", `${process.pid} an-earlier-start`)
  const created = directory("hermes_sandbox_new")
  const abandoned = directory("hermes_sandbox_old")
  utimesSync(abandoned, 0, 0)
  const foreign = directory("something_else", "1 x")
  symlinkSync(foreign, join(root, "hermes_sandbox_link"))
  execFileSync("mkfifo", [join(directory("hermes_sandbox_pipe"), ".owner")])
  const next = createStagingDirectory({}, root)
  expect([running.path, dead, created, abandoned, foreign, next.path].map((path) => existsSync(path))).toEqual([
    true,
    false,
    true,
    false,
    true,
    true,
  ])
  rmSync(root, { recursive: true })
})
