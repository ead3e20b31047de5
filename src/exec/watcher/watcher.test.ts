import { execFileSync } from "node:child_process"
import { mkdirSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs"
import { join } from "node:path"

import { expect, test, vi } from "vitest"

import { makeRepository } from "../../../test/support/git-repository.ts"
import { temporaryHome } from "../../../test/support/temporary-home.ts"
import { createLogger } from "../../base/logger.ts"
import { createWatcher } from "./watcher.ts"
import type { Watcher, WatcherOptions } from "./watcher.ts"

interface Watched extends AsyncDisposable {
  readonly root: string
  readonly watcher: Watcher
  readonly told: string[]
  readonly warnings: string[]
  /** The model reads or writes a file. */
  readonly see: (name: string) => void
  readonly write: (name: string, text: string) => void
  /** The note that comes once the system has told of the changes and they are old enough. */
  readonly note: () => Promise<string>
  /** Whether nothing is told of what happened so far. */
  readonly silent: () => Promise<boolean>
  clock: { offset: number }
}

async function watched(
  more: Partial<WatcherOptions> = {},
  prepare: (root: string) => void = () => undefined,
): Promise<Watched> {
  const place = await temporaryHome()
  const root = place.workdir
  prepare(root)
  const stamps = new Map<string, { modifiedMs: number; size: number }>()
  const told: string[] = []
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
        told.push(path)
      },
    },
    clock: { now: () => Date.now() + clock.offset, sleep: () => Promise.resolve() },
    log: createLogger({ sinks: [{ level: "WARNING", write: (line) => warnings.push(line) }], redact: (text) => text }),
    path: process.env["PATH"] ?? "",
    ...more,
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
    told,
    warnings,
    clock,
    write,
    see: (name) => {
      const found = statSync(join(root, name))
      stamps.set(join(root, name), { modifiedMs: found.mtimeMs, size: found.size })
    },
    note,
    silent: async () => {
      // The system tells changes in their order: when this one has been told, so has everything before it.
      stamps.set(join(root, "last"), { modifiedMs: 0, size: 0 })
      write("last", "x")
      return (await note()) === "[Note: changed externally since you last read them: last (modified)]"
    },
    async [Symbol.asyncDispose]() {
      watcher.close()
      await place[Symbol.asyncDispose]()
    },
  }
}

test("an edit from outside is told once, an own write never", async () => {
  await using place = await watched({}, (root) => writeFileSync(join(root, "a.py"), "1"))
  place.see("a.py")
  place.write("a.py", "by somebody")
  expect(await place.note()).toBe("[Note: changed externally since you last read them: a.py (modified)]")
  expect(place.told).toEqual([join(place.root, "a.py")])
  place.write("a.py", "by the model")
  place.see("a.py")
  expect(await place.silent()).toBe(true)
})

test("a change that is only a moment old waits for the next note", async () => {
  await using place = await watched({}, (root) => writeFileSync(join(root, "a.py"), "1"))
  place.see("a.py")
  place.write("a.py", "by somebody")
  expect(place.watcher.note()).toBeUndefined()
  expect(await place.note()).toContain("a.py (modified)")
})

test("a deleted file, a replaced one, and files in directories that are new", async () => {
  await using place = await watched({}, (root) => {
    for (const name of ["gone", "moved"]) writeFileSync(join(root, name), "1")
  })
  place.see("gone")
  place.see("moved")
  rmSync(join(place.root, "gone"))
  place.write("other", "longer")
  renameSync(join(place.root, "other"), join(place.root, "moved"))
  expect(await place.note()).toBe(
    "[Note: changed externally since you last read them: gone (deleted), moved (modified)]",
  )
  place.write("new/deep/file", "1")
  place.see("new/deep/file")
  expect(await place.silent()).toBe(true)
  place.write("new/deep/file", "22")
  expect(await place.note()).toContain("new/deep/file (modified)")
})

test("files nobody read are told only where they are asked for", async () => {
  await using quiet = await watched()
  quiet.write("b.py", "1")
  expect(await quiet.silent()).toBe(true)
  await using some = await watched({ settings: { include: ["src/**/*.py"], reportAll: false } })
  some.write("src/x/b.py", "1")
  some.write("src/x/b.md", "1")
  expect(await some.note()).toMatch(/: src\/x\/b\.py \((?:created|modified)\)\]$/u)
})

test("excluded, ignored and temporary files are not told; beyond ten there is a count", async () => {
  await using place = await watched({ settings: { include: [], reportAll: true } }, (root) => {
    execFileSync("git", ["init", "-q", root])
    writeFileSync(join(root, ".gitignore"), "generated/\n")
  })
  for (const name of ["node_modules/x.js", ".env", "a.log", ".#lock", "x.swp", "4913", "back~", "generated/y"])
    place.write(name, "1")
  for (let index = 0; index < 13; index += 1) place.write(`f${String(index).padStart(2, "0")}`, "1")
  const note = await place.note()
  expect(note).toMatch(/: f00 \(\w+\), .*f09 \(\w+\), and 3 more\]$/u)
  expect(place.told).toHaveLength(13)
})

test("what a command of the session changes is its own", async () => {
  await using place = await watched({}, (root) => writeFileSync(join(root, "a.py"), "1"))
  place.see("a.py")
  const ended = place.watcher.commandStarted(place.root)
  place.write("a.py", "by the command")
  ended()
  // What comes later must bear a later time, which file systems count in steps.
  const end = Date.now()
  await vi.waitUntil(() => Date.now() > end + 50)
  expect(await place.silent()).toBe(true)
})

test("a switch of branch in a worktree is told too", async () => {
  await using place = await watched({}, (root) => {
    const repository = makeRepository(join(root, "..", "repository"))
    execFileSync("git", ["-C", repository, "worktree", "add", "-q", "-b", "own", root], { stdio: "ignore" })
  })
  execFileSync("git", ["-C", place.root, "symbolic-ref", "HEAD", "refs/heads/topic"])
  expect(await place.note()).toBe(
    "[Note: the git branch was switched outside; HEAD is now topic. Files you read may differ.]",
  )
})

test("a switch of branch is one note", async () => {
  await using place = await watched({}, (root) => {
    execFileSync("git", ["init", "-q", "-b", "main", root])
    writeFileSync(join(root, "a"), "1")
  })
  place.see("a")
  execFileSync("git", ["-C", place.root, "symbolic-ref", "HEAD", "refs/heads/topic"])
  expect(await place.note()).toBe(
    "[Note: the git branch was switched outside; HEAD is now topic. Files you read may differ.]",
  )
  expect(await place.silent()).toBe(true)
})

test("too many directories switch it off with one warning", async () => {
  await using place = await watched({ maxDirectories: 3 }, (root) => {
    for (const name of ["a", "b", "c"]) mkdirSync(join(root, name))
    writeFileSync(join(root, "file"), "1")
  })
  place.see("file")
  place.write("file", "22")
  expect(place.watcher.note()).toBeUndefined()
  expect(place.warnings).toEqual([expect.stringContaining("too many directories to watch")])
})

test("a repository cannot have a missing object fetched by a program of its own", async () => {
  await using place = await watched({ settings: { include: [], reportAll: true } }, (root) => {
    makeRepository(root, { ".gitignore": "none\n", "a.py": "1" })
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
  place.write("new.py", "1")
  expect(await place.note()).toContain("new.py (created)")
  expect(statSync(join(place.root, "..", "ran"), { throwIfNoEntry: false })).toBeUndefined()
})
