import { execFileSync } from "node:child_process"
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs"
import { basename, join } from "node:path"

import { describe, expect, test, vi } from "vitest"

import { directoryContents } from "../../../test/support/directory-contents.ts"
import { git, createRepository, installTracingHooks, writeFileIn } from "../../../test/support/git-repository.ts"
import { temporaryHome } from "../../../test/support/temporary-home.ts"
import { systemClock } from "../../base/clock.ts"
import { createGit } from "./git.ts"
import { createWorktree, reopenWorktree } from "./open-worktree.ts"
import type { OpenedWorktree } from "./open-worktree.ts"
import { closeWorktree } from "./remove-worktree.ts"
import type { Worktree } from "./worktree.ts"

const HOUR_MS = 3_600_000

async function openRepository(repository?: Readonly<Record<string, string>>) {
  const home = await temporaryHome()
  const root = join(home.workdir, "my repö")
  if (repository !== undefined) createRepository(root, repository)
  const runGit = createGit({ ...home.env, GIT_CONFIG_NOSYSTEM: "1" })
  const signal = new AbortController().signal
  const dependencies = { git: runGit, clock: systemClock, signal }
  return {
    home,
    root,
    tryCreate: (directory = root) => createWorktree(directory, dependencies),
    create: async (directory = root): Promise<OpenedWorktree> => {
      const created = await createWorktree(directory, dependencies)
      if (!created.ok) throw new Error(created.error.message)
      return created.value
    },
    reopen: (path: string) => reopenWorktree(path, dependencies),
    close: (worktree: Worktree) => closeWorktree(worktree, runGit, signal),
    [Symbol.asyncDispose]: () => home[Symbol.asyncDispose](),
  }
}

const FILES = { "a.txt": "one\n", "src/ü b.txt": "two\n", ".gitignore": ".env\nnode_modules/" }

function age(path: string, hours: number): void {
  const then = new Date(Date.now() - hours * HOUR_MS)
  utimesSync(path, then, then)
}

function branches(root: string): readonly string[] {
  return git(root, "for-each-ref", "--format=%(refname:short)", "refs/heads").split("\n")
}

test("a worktree starts at HEAD on its own branch, is ignored by git, and leaves nothing behind when closed", async () => {
  await using t = await openRepository(FILES)
  installTracingHooks(t.root, join(t.home.workdir, "traces"))
  writeFileIn(t.root, "a.txt", "changed by the user\n")
  const before = directoryContents(join(t.root, ".git"))
  const { worktree, warnings, kept } = await t.create()
  const name = basename(worktree.path)
  expect(name).toMatch(/^hermes-[0-9a-f]{8}$/u)
  expect({ ...worktree, warnings, kept }).toEqual({
    path: join(t.root, ".worktrees", name),
    branch: `hermes/${name}`,
    root: t.root,
    commonDirectory: join(t.root, ".git"),
    gitDirectory: join(t.root, ".git/worktrees", name),
    base: git(t.root, "rev-parse", "HEAD"),
    subdirectory: "",
    included: [],
    warnings: [],
    kept: [],
  })
  expect(readFileSync(join(worktree.path, "a.txt"), "utf8")).toBe("one\n")
  expect(readFileSync(join(worktree.path, "src/ü b.txt"), "utf8")).toBe("two\n")
  expect(readFileSync(join(t.root, ".gitignore"), "utf8")).toBe(".env\nnode_modules/\n.worktrees/\n")
  expect(git(worktree.path, "branch", "--show-current")).toBe(worktree.branch)
  expect(await t.close(worktree)).toEqual({ kind: "removed" })
  const folders = ["/logs/refs/heads/hermes", "/refs/heads/hermes", "/worktrees", "/packed-refs"]
  const after = Object.entries(directoryContents(join(t.root, ".git"))).filter(([path]) => !folders.includes(path))
  expect(Object.fromEntries(after)).toEqual(before)
  expect([readdirSync(join(t.root, ".worktrees")), readdirSync(join(t.home.workdir, "traces"))]).toEqual([[], []])
})

test("a worktree remembers the subdirectory and adds one .gitignore line with the file's line endings", async () => {
  await using t = await openRepository({ "sub/b.txt": "b\n", ".gitignore": "x\r\n" })
  const first = await t.create(join(t.root, "sub"))
  const second = await t.create()
  expect([first.worktree.subdirectory, second.worktree.subdirectory]).toEqual(["sub", ""])
  expect(readFileSync(join(t.root, ".gitignore"), "utf8")).toBe("x\r\n.worktrees/\r\n")
  expect(branches(t.root)).toEqual([first.worktree.branch, second.worktree.branch, "main"].toSorted())
})

test("a linked .gitignore is not changed, and the ignore rule is added to info/exclude only once", async () => {
  await using t = await openRepository({ "a.txt": "", rules: "x\n" })
  symlinkSync("rules", join(t.root, ".gitignore"))
  const { worktree } = await t.create()
  expect(readFileSync(join(t.root, "rules"), "utf8")).toBe("x\n")
  expect(readFileSync(join(t.root, ".git/info/exclude"), "utf8")).toMatch(/\n\.worktrees\/\n$/u)
  await t.close(worktree)
  await t.create()
  expect(readFileSync(join(t.root, ".git/info/exclude"), "utf8").match(/\.worktrees/gu)).toHaveLength(1)
})

test("several worktrees can be created at the same time", async () => {
  await using t = await openRepository(FILES)
  const made = await Promise.all(Array.from({ length: 4 }, () => t.create()))
  expect(new Set(made.map(({ worktree }) => worktree.path)).size).toBe(4)
  expect(readFileSync(join(t.root, ".gitignore"), "utf8").match(/\.worktrees/gu)).toHaveLength(1)
  expect(await Promise.all(made.map(({ worktree }) => t.close(worktree)))).toEqual(
    made.map(() => ({ kind: "removed" })),
  )
  expect(branches(t.root)).toEqual(["main"])
})

test("inside a worktree, a new one is created next to it", async () => {
  await using t = await openRepository(FILES)
  const { worktree } = await t.create()
  writeFileIn(worktree.path, "new.txt", "n")
  git(worktree.path, "add", ".")
  git(worktree.path, "commit", "-qm", "inner")
  const inner = await t.create(join(worktree.path, "src"))
  expect([inner.worktree.root, readdirSync(inner.worktree.path).includes("new.txt")]).toEqual([t.root, true])
})

describe("a worktree cannot be created:", () => {
  const MINIMAL = { "a.txt": "" }
  const cases: readonly {
    readonly name: string
    readonly kind: string
    readonly message: RegExp
    readonly prepare: (root: string) => string | void
  }[] = [
    {
      name: "no repository",
      kind: "outside",
      message: /is not in a git repository; change to one$/u,
      prepare: (root) => rmSync(join(root, ".git"), { recursive: true }),
    },
    {
      name: "no commits",
      kind: "unusable",
      message: /^the branch fresh has no commits yet; create one first$/u,
      prepare: (root) => void git(root, "checkout", "--orphan", "fresh"),
    },
    {
      name: "a bare repository",
      kind: "unusable",
      message: /is a bare repository without a checkout; clone it, or change to one of its worktrees$/u,
      prepare: (root) => {
        git(root, "clone", "--quiet", "--bare", root, `${root}.git`)
        return `${root}.git`
      },
    },
    {
      name: "inside .git",
      kind: "unusable",
      message: /change to the checkout$/u,
      prepare: (root) => join(root, ".git"),
    },
    {
      name: "an unreadable branch",
      kind: "unusable",
      message: /^git cannot read HEAD, /u,
      prepare: (root) => writeFileSync(join(root, ".git/refs/heads/main"), "garbage\n"),
    },
    {
      name: "an unreadable HEAD",
      kind: "unusable",
      message: /^git cannot read the repository at .*my repö: not a git repository/u,
      prepare: (root) => writeFileSync(join(root, ".git/HEAD"), "garbage\n"),
    },
    {
      name: "a lost commit",
      kind: "unusable",
      message: /^git cannot read HEAD, /u,
      prepare: (root) =>
        rmSync(join(root, ".git/objects"), { recursive: true }) ?? mkdirSync(join(root, ".git/objects")),
    },
    {
      name: "a branch named hermes",
      kind: "unusable",
      message: /; rename the branch hermes, because worktrees need branches named hermes\/…$/u,
      prepare: (root) => void git(root, "branch", "hermes"),
    },
    {
      name: "a file named .worktrees",
      kind: "unusable",
      message: /\.worktrees, which is not a directory; rename it$/u,
      prepare: (root) => writeFileSync(join(root, ".worktrees"), ""),
    },
    {
      name: "a link named .worktrees",
      kind: "unusable",
      message: /\.worktrees, which is not a directory; rename it$/u,
      prepare: (root) => symlinkSync("somewhere", join(root, ".worktrees")),
    },
  ]
  test.each(cases)("$name", async ({ kind, message, prepare }) => {
    await using t = await openRepository(MINIMAL)
    const directory = prepare(t.root) ?? t.root
    const created = await t.tryCreate(directory)
    expect(created).toEqual({ ok: false, error: { kind, message: expect.stringMatching(message) as string } })
    const made = readdirSync(t.root, { recursive: true, encoding: "utf8" }).filter((name) => /worktrees\/./u.test(name))
    expect(made).toEqual([])
  })

  test("git is not installed", async () => {
    await using t = await openRepository(MINIMAL)
    const signal = new AbortController().signal
    expect(await createWorktree(t.root, { git: createGit({ PATH: "/nowhere" }), clock: systemClock, signal })).toEqual({
      ok: false,
      error: { kind: "unusable", message: "a worktree needs git, which cannot be started; install it" },
    })
  })

  test("an interrupted checkout leaves nothing behind", async () => {
    await using t = await openRepository({ ...FILES, ".gitattributes": "*.txt filter=slow\n" })
    const started = join(t.home.workdir, "started")
    // A filter of the user: those of the repository are not run.
    const settings = join(t.home.userHome, ".gitconfig")
    git(t.root, "config", "-f", settings, "filter.slow.smudge", `touch "${started}"; exec sleep 60`)
    git(t.root, "config", "-f", settings, "filter.slow.required", "true")
    const stop = new AbortController()
    const signal = stop.signal
    const creating = createWorktree(t.root, { git: createGit(t.home.env), clock: systemClock, signal })
    await vi.waitUntil(() => existsSync(started), { timeout: 20_000, interval: 5 })
    stop.abort()
    expect(await creating).toMatchObject({ ok: false, error: { kind: "unusable" } })
    expect(readdirSync(join(t.root, ".worktrees"))).toEqual([])
    expect(branches(t.root)).toEqual(["main"])
    expect(git(t.root, "worktree", "list").split("\n")).toHaveLength(1)
  })
})

describe(".worktreeinclude", () => {
  test("files are copied, directories are linked, and neither counts as work", async () => {
    await using t = await openRepository(FILES)
    writeFileIn(t.root, ".env", "KEY=1\n")
    chmodSync(join(t.root, ".env"), 0o600)
    writeFileIn(t.root, "node_modules/x.js", "x")
    writeFileIn(t.root, "conf/local/deep.ini", "y")
    writeFileIn(
      t.root,
      ".worktreeinclude",
      "# mine\r\n\r\n.env\r\n  node_modules/  \r\nconf/local/deep.ini\nmissing\na.txt\n",
    )
    const { worktree, warnings } = await t.create()
    expect(warnings).toEqual([])
    expect((await t.reopen(worktree.path))?.included).toEqual(worktree.included)
    expect(worktree.included).toEqual([".env", "node_modules", "conf/local/deep.ini"])
    expect(readFileSync(join(worktree.path, ".env"), "utf8")).toBe("KEY=1\n")
    expect(readlinkSync(join(worktree.path, "node_modules"))).toBe(join(t.root, "node_modules"))
    expect(readFileSync(join(worktree.path, "conf/local/deep.ini"), "utf8")).toBe("y")
    expect(await t.close(worktree)).toEqual({ kind: "removed" })
    expect(readFileSync(join(t.root, "node_modules/x.js"), "utf8")).toBe("x")
  })

  test("a modified copy counts as work", async () => {
    await using t = await openRepository(FILES)
    writeFileIn(t.root, "notes.ini", "a\n")
    writeFileIn(t.root, ".worktreeinclude", "notes.ini\n")
    const { worktree } = await t.create()
    writeFileIn(worktree.path, "notes.ini", "b\n")
    expect(await t.close(worktree)).toEqual({ kind: "kept", what: "1 changed file" })
  })

  test("nothing is read outside the repository or written outside the worktree", async () => {
    await using t = await openRepository(FILES)
    const outside = join(t.home.workdir, "outside")
    writeFileIn(outside, "secret", "s")
    symlinkSync(outside, join(t.root, "link-out"))
    symlinkSync(join(outside, "secret"), join(t.root, "linked-secret"))
    // The link is tracked, so the worktree has it too.
    git(t.root, "add", "link-out")
    git(t.root, "commit", "-qm", "link")
    rmSync(join(t.root, "link-out"))
    writeFileIn(t.root, "link-out/new", "n")
    execFileSync("mkfifo", [join(t.root, "pipe")])
    const names = [
      "../outside/secret",
      outside,
      "linked-secret",
      "link-out/new",
      ".git/config",
      ".worktrees",
      ".",
      "pipe",
    ]
    writeFileIn(t.root, ".worktreeinclude", names.join("\n"))
    const { worktree, warnings } = await t.create()
    expect([worktree.included, warnings]).toEqual([
      [],
      [
        ".worktreeinclude: ../outside/secret is not inside the repository",
        `.worktreeinclude: ${outside} is not inside the repository`,
        ".worktreeinclude: linked-secret is a link to a target outside the repository",
        ".worktreeinclude: link-out/new would be written outside the worktree",
        ".worktreeinclude: .git/config belongs to git, not to the project",
        ".worktreeinclude: .worktrees belongs to git, not to the project",
        ".worktreeinclude: pipe is neither a file nor a directory",
      ],
    ])
    expect(readdirSync(outside)).toEqual(["secret"])
  })
})

describe("closing a worktree", () => {
  const cases: readonly { readonly name: string; readonly what: string; readonly work: (path: string) => void }[] = [
    { name: "a changed file", what: "1 changed file", work: (path) => writeFileIn(path, "a.txt", "x") },
    {
      name: "new files",
      what: "2 changed files",
      work: (path) => (writeFileIn(path, "n/1", ""), writeFileIn(path, "n/2", "")),
    },
    { name: "a renamed file", what: "1 changed file", work: (path) => void git(path, "mv", "a.txt", "ä b.txt") },
    { name: "a commit", what: "1 unmerged commit", work: (path) => commit(path) },
    {
      name: "a commit on no branch",
      what: "1 unmerged commit",
      work: (path) => {
        git(path, "checkout", "--quiet", "--detach")
        commit(path)
      },
    },
    {
      name: "both",
      what: "1 changed file and 2 unmerged commits",
      work: (path) => {
        commit(path, "1")
        commit(path, "2")
        writeFileIn(path, "a.txt", "x")
      },
    },
  ]
  test.each(cases)("$name keeps it", async ({ what, work }) => {
    await using t = await openRepository(FILES)
    const { worktree } = await t.create()
    work(worktree.path)
    expect(await t.close(worktree)).toEqual({ kind: "kept", what })
    expect(existsSync(worktree.path)).toBe(true)
  })

  test.each([
    { name: "merged", share: (t: { root: string }, branch: string) => git(t.root, "merge", "--quiet", branch) },
    { name: "tagged", share: (t: { root: string }, branch: string) => git(t.root, "tag", "v1", branch) },
    {
      name: "pushed",
      share: (t: { root: string }, branch: string) => {
        git(t.root, "clone", "--quiet", "--bare", t.root, `${t.root}.git`)
        git(t.root, "remote", "add", "origin", `${t.root}.git`)
        git(t.root, "push", "--quiet", "origin", `${branch}:feature`)
      },
    },
    {
      name: "on another branch",
      share: (t: { root: string }, branch: string) => git(t.root, "branch", "mine", branch),
    },
  ])("a commit that is $name does not keep it", async ({ share }) => {
    await using t = await openRepository(FILES)
    const { worktree } = await t.create()
    commit(worktree.path)
    share(t, worktree.branch)
    expect(await t.close(worktree)).toEqual({ kind: "removed" })
    expect(branches(t.root)).not.toContain(worktree.branch)
  })

  test("the user's commits on a detached HEAD do not count as work of the worktree", async () => {
    await using t = await openRepository(FILES)
    git(t.root, "checkout", "--quiet", "--detach")
    commit(t.root)
    const { worktree } = await t.create()
    expect(await t.close(worktree)).toEqual({ kind: "removed" })
  })

  test("ignored files do not keep it; new files do, even if the user's settings hide them from git status", async () => {
    await using t = await openRepository(FILES)
    git(t.root, "config", "status.showUntrackedFiles", "no")
    const first = await t.create()
    writeFileIn(first.worktree.path, ".env", "built")
    expect(await t.close(first.worktree)).toEqual({ kind: "removed" })
    const second = await t.create()
    writeFileIn(second.worktree.path, "new", "")
    expect(await t.close(second.worktree)).toEqual({ kind: "kept", what: "1 changed file" })
  })

  test("a .git file that a command has changed does not redirect git", async () => {
    await using t = await openRepository(FILES)
    const { worktree } = await t.create()
    const evil = createRepository(join(worktree.path, "evil"))
    git(evil, "config", "core.fsmonitor", `touch ${join(t.home.workdir, "ran")}`)
    writeFileSync(join(worktree.path, ".git"), `gitdir: ${join(evil, ".git")}\n`)
    expect(await t.close(worktree)).toMatchObject({ kind: "kept" })
    expect(existsSync(join(t.home.workdir, "ran"))).toBe(false)
  })

  test("a repository that a command created inside cannot run programs", async () => {
    await using t = await openRepository(FILES)
    const { worktree } = await t.create()
    const inner = createRepository(join(worktree.path, "inner"), {
      "a.txt": "one\n",
      ".gitattributes": "* filter=evil\n",
    })
    git(inner, "config", "filter.evil.clean", `touch ${join(t.home.workdir, "ran")}; cat`)
    git(worktree.path, "add", "inner")
    git(worktree.path, "commit", "-qm", "inner")
    writeFileIn(inner, "a.txt", "two\n")
    rmSync(join(t.home.workdir, "ran"), { force: true })
    expect(await t.close(worktree)).toEqual({ kind: "kept", what: "it contains submodules with files" })
    expect(existsSync(join(t.home.workdir, "ran"))).toBe(false)
  })

  test("an uninitialized submodule does not keep it, an initialized one does", async () => {
    await using t = await openRepository(FILES)
    const module = createRepository(join(t.home.workdir, "module"))
    git(t.root, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", module, "lib")
    git(t.root, "commit", "-qm", "module")
    const first = await t.create()
    expect(await t.close(first.worktree)).toEqual({ kind: "removed" })
    const second = await t.create()
    git(second.worktree.path, "-c", "protocol.file.allow=always", "submodule", "--quiet", "update", "--init")
    expect(await t.close(second.worktree)).toEqual({ kind: "kept", what: "submodules were initialized in it" })
    const inside = await t.create(join(t.root, "lib"))
    expect(inside.worktree.root).toBe(join(t.root, "lib"))
    expect(await t.close(inside.worktree)).toEqual({ kind: "removed" })
  })
})

describe("stale worktrees", () => {
  test.each([
    { hours: 23, work: "none", removed: false, reported: false },
    { hours: 25, work: "none", removed: true, reported: false },
    { hours: 25, work: "commit", removed: false, reported: false },
    { hours: 25, work: "change", removed: false, reported: false },
    { hours: 73, work: "none", removed: true, reported: false },
    { hours: 73, work: "commit", removed: false, reported: true },
    { hours: 73, work: "change", removed: false, reported: true },
  ])("after $hours h with work: $work", async ({ hours, work, removed, reported }) => {
    await using t = await openRepository(FILES)
    const { worktree } = await t.create()
    rmSync(join(worktree.gitDirectory, `hermes-open-${process.pid}`))
    if (work === "commit") commit(worktree.path)
    if (work === "change") writeFileIn(worktree.path, "a.txt", "x")
    age(worktree.path, hours)
    const { kept } = await t.create()
    expect([existsSync(worktree.path), branches(t.root).includes(worktree.branch), kept]).toEqual([
      !removed,
      !removed,
      reported ? [worktree.path] : [],
    ])
  })

  test("one used by another running process stays, one of a dead process does not", async () => {
    await using t = await openRepository(FILES)
    const [open, closed] = [await t.create(), await t.create()]
    const mark = (worktree: Worktree, pid: number, start: string): void => {
      rmSync(join(worktree.gitDirectory, `hermes-open-${process.pid}`))
      writeFileSync(join(worktree.gitDirectory, `hermes-open-${pid}`), start)
      age(worktree.path, 100)
    }
    mark(open.worktree, process.ppid, startOf(process.ppid))
    mark(closed.worktree, process.ppid, "earlier")
    const { kept } = await t.create()
    expect([existsSync(open.worktree.path), existsSync(closed.worktree.path), kept]).toEqual([true, false, []])
    expect(await t.close(open.worktree)).toEqual({ kind: "in-use" })
  })

  test("incomplete and deleted worktrees are cleaned up, directories unknown to git are kept and reported", async () => {
    await using t = await openRepository(FILES)
    const [incomplete, unknown, deleted] = [await t.create(), await t.create(), await t.create()]
    writeFileSync(join(incomplete.worktree.gitDirectory, "locked"), "initializing\n")
    rmSync(join(incomplete.worktree.path, "a.txt"))
    rmSync(unknown.worktree.gitDirectory, { recursive: true })
    rmSync(deleted.worktree.path, { recursive: true })
    age(incomplete.worktree.path, 25)
    age(unknown.worktree.path, 80)
    const { worktree, kept } = await t.create()
    expect([existsSync(incomplete.worktree.path), existsSync(join(unknown.worktree.path, "a.txt")), kept]).toEqual([
      false,
      true,
      [unknown.worktree.path],
    ])
    expect(branches(t.root)).toEqual([unknown.worktree.branch, worktree.branch, "main"].toSorted())
  })
})

test("a worktree can be reopened only while it exists and belongs to the repository", async () => {
  await using t = await openRepository(FILES)
  const { worktree } = await t.create()
  const { base: _base, ...known } = worktree
  git(t.root, "pack-refs", "--all")
  expect(await t.reopen(worktree.path)).toEqual(known)
  expect(existsSync(join(worktree.commonDirectory, "refs/heads/hermes"))).toBe(true)
  expect(await t.reopen(join(t.root, ".worktrees/hermes-00000000"))).toBeUndefined()
  expect(await t.reopen(join(t.root, "src"))).toBeUndefined()
  mkdirSync(join(t.root, ".worktrees/hermes-12345678"))
  expect(await t.reopen(join(t.root, ".worktrees/hermes-12345678"))).toBeUndefined()
})

function commit(path: string, name = "new"): void {
  writeFileIn(path, name, "x")
  git(path, "add", "--all")
  git(path, "commit", "--quiet", "--message", name)
}

function startOf(pid: number): string {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8")
  return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19] ?? ""
}
