import { execFileSync } from "node:child_process"
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { delimiter, join } from "node:path"
import { expect, test } from "vitest"

import { createRepository } from "../../test/support/git-repository.ts"
import { temporaryHome } from "../../test/support/temporary-home.ts"
import type { TemporaryHome } from "../../test/support/temporary-home.ts"
import { findTrustedProgram } from "../base/find-program.ts"
import { gitOutput } from "./checkpoints/git-command.ts"
import { locateBubblewrap } from "./sandbox/probe-sandbox.ts"
import { createGit } from "./worktrees/git.ts"

const signal = new AbortController().signal

/** Programs that a model could have created, first on the PATH. Each one leaves a file when it is run. */
function plantPrograms(home: TemporaryHome): { readonly path: string; readonly ran: string } {
  const ran = join(home.path, "ran")
  const directories = [join(home.userHome, ".local/bin"), join(home.workdir, "node_modules/.bin")]
  for (const directory of directories) {
    mkdirSync(directory, { recursive: true })
    for (const name of ["git", "bwrap", "nsenter", "sh", "flock"])
      writeFileSync(join(directory, name), `#!/bin/sh\ntouch ${ran}\n`, { mode: 0o755 })
  }
  return { path: [...directories, process.env["PATH"] ?? ""].join(delimiter), ran }
}

test("a program in a directory that the user can write is never one of Hermes' own helpers", async () => {
  await using home = await temporaryHome()
  createRepository(home.workdir)
  const { path, ran } = plantPrograms(home)
  const top = await createGit({ ...home.env, PATH: path })(["rev-parse", "--is-inside-work-tree"], {
    directory: home.workdir,
    signal,
  })
  expect(top).toMatchObject({ ok: true, text: "true" })
  const gitDir = join(home.path, "store")
  mkdirSync(gitDir)
  await gitOutput({ gitDir, searchPath: path }, ["init", "--quiet", "--bare"], { signal })
  const found = [findTrustedProgram("git", path), locateBubblewrap(path), findTrustedProgram("nsenter", path)]
  expect(found.filter((program) => program?.startsWith(home.userHome) === true)).toEqual([])
  expect(found.filter((program) => program?.startsWith(home.workdir) === true)).toEqual([])
  expect(existsSync(ran)).toBe(false)
})

test("nothing that a repository configures is run", async () => {
  await using home = await temporaryHome()
  const root = home.workdir
  createRepository(root)
  const ran = join(home.path, "ran")
  const evil = join(home.path, "evil")
  writeFileSync(evil, `#!/bin/sh\ntouch ${ran}\ncat\n`, { mode: 0o755 })
  const hooks = join(home.path, "hooks")
  mkdirSync(hooks)
  for (const name of ["post-checkout", "post-index-change", "reference-transaction", "fsmonitor-watchman"])
    writeFileSync(join(hooks, name), `#!/bin/sh\ntouch ${ran}\n`, { mode: 0o755 })
  writeFileSync(join(root, ".gitattributes"), "* filter=evil diff=evil\n")
  writeFileSync(join(root, "file.txt"), "text\n")
  const inRoot = (...args: readonly string[]): string =>
    execFileSync("git", ["-C", root, ...args], { encoding: "utf8", env: home.env })
  inRoot("add", ".")
  inRoot("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "files")
  const settings: Readonly<Record<string, string>> = {
    "core.hooksPath": hooks,
    "core.fsmonitor": evil,
    "core.sshCommand": evil,
    "core.pager": evil,
    "core.askPass": evil,
    "credential.helper": evil,
    "filter.evil.clean": evil,
    "filter.evil.smudge": evil,
    "filter.evil.required": "true",
    "filter.Other.process": evil,
    "diff.external": evil,
    "diff.evil.textconv": evil,
    "alias.status": `!${evil}`,
    "extensions.partialClone": "origin",
    "remote.origin.url": `ext::${evil}`,
    "remote.origin.promisor": "true",
    "protocol.ext.allow": "always",
  }
  for (const [name, value] of Object.entries(settings)) inRoot("config", name, value)
  writeFileSync(join(root, "file.txt"), "changed\n")
  const git = createGit(home.env)
  const call = { directory: root, signal }
  const results = [
    await git(["status", "--porcelain"], call),
    await git(["worktree", "add", "--quiet", "--no-track", "-b", "x", join(home.path, "tree"), "HEAD"], call),
    await git(["check-ignore", "file.txt"], call),
    await git(["cat-file", "-e", "1234567890123456789012345678901234567890"], call),
  ]
  expect(results.slice(0, 2).map(({ ok }) => ok)).toEqual([true, true])
  expect(readFileSync(join(home.path, "tree/file.txt"), "utf8")).toBe("text\n")
  expect(existsSync(ran)).toBe(false)
})

test("settings of the checkpoint store that name programs are removed before git reads them", async () => {
  await using home = await temporaryHome()
  const gitDir = join(home.path, "store")
  const ran = join(home.path, "ran")
  mkdirSync(gitDir)
  const repository = { gitDir, searchPath: process.env["PATH"] ?? "" }
  await gitOutput(repository, ["init", "--quiet", "--bare"], { signal })
  const plain = readFileSync(join(gitDir, "config"), "utf8")
  const hostile = `[gc]\n\trecentObjectsHook = touch ${ran}\n[include]\n\tpath = ${ran}.config\n[core]\n\tfsmonitor = touch ${ran}\n[filter "x"]\n\tclean = touch ${ran}\n`
  writeFileSync(join(gitDir, "config"), plain + hostile)
  await gitOutput(repository, ["gc", "--quiet", "--prune=now"], { signal })
  expect(existsSync(ran)).toBe(false)
  expect(readFileSync(join(gitDir, "config"), "utf8")).not.toMatch(/touch|include|fsmonitor/u)
})
