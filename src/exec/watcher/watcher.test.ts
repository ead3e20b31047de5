import { execFileSync } from "node:child_process"
import { mkdirSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs"
import { join } from "node:path"

import { expect, test, vi } from "vitest"

import { createRepository } from "../../../test/support/git-repository.ts"
import { temporaryHome } from "../../../test/support/temporary-home.ts"
import { createLogger } from "../../base/logger.ts"
import { createWatcher } from "./watcher.ts"
import type { Watcher, WatcherOptions } from "./watcher.ts"

interface WatchedWorkspace extends AsyncDisposable {
  readonly root: string
  readonly watcher: Watcher
  /** Paths of the reported changes. */
  readonly reported: string[]
  readonly warnings: string[]
  /** The model reads or writes a file. */
  readonly markSeen: (name: string) => void
  readonly write: (name: string, text: string) => void
  /** Waits for the next note; advances the clock past the debounce time. */
  readonly note: () => Promise<string>
  /** Whether no change made so far is reported. */
  readonly isQuiet: () => Promise<boolean>
  clock: { offset: number }
}

async function watchWorkspace(
  overrides: Partial<WatcherOptions> = {},
  prepare: (root: string) => void = () => undefined,
): Promise<WatchedWorkspace> {
  const home = await temporaryHome()
  const root = home.workdir
  prepare(root)
  const stamps = new Map<string, { modifiedMs: number; size: number }>()
  const reported: string[] = []
  const warnings: string[] = []
  const clock = { offset: 0 }
  const write = (name: string, text: string): void => {
    mkdirSync(join(root, name, ".."), { recursive: true })
    writeFileSync(join(root, name), text)
  }
  const watcher = createWatcher({
    root,
    settings: { include: [], reportAll: false },
    hooks: {
      changedSince: (path, now) => {
        const seen = stamps.get(path)
        if (seen === undefined) return "unknown"
        return seen.modifiedMs === now?.modifiedMs && seen.size === now.size ? "unchanged" : "changed"
      },
      knownFiles: () => stamps.keys(),
      forgetFile: (path) => {
        reported.push(path)
      },
    },
    clock: { now: () => Date.now() + clock.offset, sleep: () => Promise.resolve() },
    log: createLogger({ sinks: [{ level: "WARNING", write: (line) => warnings.push(line) }], redact: (text) => text }),
    path: process.env["PATH"] ?? "",
    ...overrides,
  })
  const note = (): Promise<string> =>
    vi.waitFor(
      () => {
        clock.offset += 600
        const text = watcher.note()
        if (text === undefined) throw new Error("nothing yet")
        return text
      },
      { timeout: 10_000, interval: 10 },
    )
  await watcher.ready
  return {
    root,
    watcher,
    reported,
    warnings,
    clock,
    write,
    markSeen: (name) => {
      const found = statSync(join(root, name))
      stamps.set(join(root, name), { modifiedMs: found.mtimeMs, size: found.size })
    },
    note,
    isQuiet: async () => {
      // The system delivers events in order: once this change is reported, all earlier ones have been delivered.
      stamps.set(join(root, "last"), { modifiedMs: 0, size: 0 })
      write("last", "x")
      return (await note()) === "[Note: changed externally since you last read them: last (modified)]"
    },
    async [Symbol.asyncDispose]() {
      watcher.close()
      await home[Symbol.asyncDispose]()
    },
  }
}

test("an external edit is reported once, a write by the model never", async () => {
  await using workspace = await watchWorkspace({}, (root) => writeFileSync(join(root, "a.py"), "1"))
  workspace.markSeen("a.py")
  workspace.write("a.py", "external")
  expect(await workspace.note()).toBe("[Note: changed externally since you last read them: a.py (modified)]")
  expect(workspace.reported).toEqual([join(workspace.root, "a.py")])
  workspace.write("a.py", "by the model")
  workspace.markSeen("a.py")
  expect(await workspace.isQuiet()).toBe(true)
})

test("a change within the debounce time is reported in a later note", async () => {
  await using workspace = await watchWorkspace({}, (root) => writeFileSync(join(root, "a.py"), "1"))
  workspace.markSeen("a.py")
  workspace.write("a.py", "external")
  expect(workspace.watcher.note()).toBeUndefined()
  expect(await workspace.note()).toContain("a.py (modified)")
})

test("deleted and replaced files and files in new directories are reported", async () => {
  await using workspace = await watchWorkspace({}, (root) => {
    for (const name of ["gone", "moved"]) writeFileSync(join(root, name), "1")
  })
  workspace.markSeen("gone")
  workspace.markSeen("moved")
  rmSync(join(workspace.root, "gone"))
  workspace.write("other", "longer")
  renameSync(join(workspace.root, "other"), join(workspace.root, "moved"))
  expect(await workspace.note()).toBe(
    "[Note: changed externally since you last read them: gone (deleted), moved (modified)]",
  )
  workspace.write("new/deep/file", "1")
  workspace.markSeen("new/deep/file")
  expect(await workspace.isQuiet()).toBe(true)
  workspace.write("new/deep/file", "22")
  expect(await workspace.note()).toContain("new/deep/file (modified)")
})

test("files that the model has not read are reported only if the settings include them", async () => {
  await using quiet = await watchWorkspace()
  quiet.write("b.py", "1")
  expect(await quiet.isQuiet()).toBe(true)
  await using some = await watchWorkspace({ settings: { include: ["src/**/*.py"], reportAll: false } })
  some.write("src/x/b.py", "1")
  some.write("src/x/b.md", "1")
  expect(await some.note()).toMatch(/: src\/x\/b\.py \((?:created|modified)\)\]$/u)
})

test("excluded, ignored and temporary files are not reported, and a note lists at most ten files", async () => {
  await using workspace = await watchWorkspace({ settings: { include: [], reportAll: true } }, (root) => {
    execFileSync("git", ["init", "-q", root])
    writeFileSync(join(root, ".gitignore"), "generated/\n")
  })
  for (const name of ["node_modules/x.js", ".env", "a.log", ".#lock", "x.swp", "4913", "back~", "generated/y"])
    workspace.write(name, "1")
  for (let index = 0; index < 13; index += 1) workspace.write(`f${String(index).padStart(2, "0")}`, "1")
  const note = await workspace.note()
  expect(note).toMatch(/: f00 \(\w+\), .*f09 \(\w+\), and 3 more\]$/u)
  expect(workspace.reported).toHaveLength(13)
})

test("changes by a command of the session are not reported", async () => {
  await using workspace = await watchWorkspace({}, (root) => writeFileSync(join(root, "a.py"), "1"))
  workspace.markSeen("a.py")
  const ended = workspace.watcher.commandStarted(workspace.root)
  workspace.write("a.py", "by the command")
  ended()
  // Later changes must get a later timestamp, and file systems have a coarse clock.
  const end = Date.now()
  await vi.waitUntil(() => Date.now() > end + 50)
  expect(await workspace.isQuiet()).toBe(true)
})

test("a branch switch in a worktree is reported", async () => {
  await using workspace = await watchWorkspace({}, (root) => {
    const repository = createRepository(join(root, "..", "repository"))
    execFileSync("git", ["-C", repository, "worktree", "add", "-q", "-b", "own", root], { stdio: "ignore" })
  })
  execFileSync("git", ["-C", workspace.root, "symbolic-ref", "HEAD", "refs/heads/topic"])
  expect(await workspace.note()).toBe(
    "[Note: the git branch was switched externally; HEAD is now topic. Files you read may differ.]",
  )
})

test("a branch switch is reported once", async () => {
  await using workspace = await watchWorkspace({}, (root) => {
    execFileSync("git", ["init", "-q", "-b", "main", root])
    writeFileSync(join(root, "a"), "1")
  })
  workspace.markSeen("a")
  execFileSync("git", ["-C", workspace.root, "symbolic-ref", "HEAD", "refs/heads/topic"])
  expect(await workspace.note()).toBe(
    "[Note: the git branch was switched externally; HEAD is now topic. Files you read may differ.]",
  )
  expect(await workspace.isQuiet()).toBe(true)
})

test("too many directories disable the watcher, with one warning", async () => {
  await using workspace = await watchWorkspace({ maxDirectories: 3 }, (root) => {
    for (const name of ["a", "b", "c"]) mkdirSync(join(root, name))
    writeFileSync(join(root, "file"), "1")
  })
  workspace.markSeen("file")
  workspace.write("file", "22")
  expect(workspace.watcher.note()).toBeUndefined()
  expect(workspace.warnings).toEqual([expect.stringContaining("too many directories to watch")])
})

test("a repository cannot run its own program to fetch a missing object", async () => {
  await using workspace = await watchWorkspace({ settings: { include: [], reportAll: true } }, (root) => {
    createRepository(root, { ".gitignore": "none\n", "a.py": "1" })
    const git = (...args: readonly string[]): string =>
      execFileSync("git", args, { cwd: root, encoding: "utf8" }).trim()
    const object = git("rev-parse", ":.gitignore")
    git("update-index", "--skip-worktree", ".gitignore")
    rmSync(join(root, ".gitignore"))
    rmSync(join(root, ".git/objects", object.slice(0, 2), object.slice(2)))
    git("config", "core.repositoryFormatVersion", "1")
    git("config", "extensions.partialClone", "origin")
    git("config", "remote.origin.promisor", "true")
    git("config", "remote.origin.url", "ssh://nowhere/x")
    git("config", "core.sshCommand", `touch ${join(root, "..", "ran")}; false`)
  })
  workspace.write("new.py", "1")
  expect(await workspace.note()).toContain("new.py (created)")
  expect(statSync(join(workspace.root, "..", "ran"), { throwIfNoEntry: false })).toBeUndefined()
})
