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

import { describe, expect, test } from "vitest"

import { pictureOf } from "../../../test/integration/checkpoints-picture.ts"
import { git, makeRepository, plantHooks, writeIn } from "../../../test/support/git-repository.ts"
import { temporaryHome } from "../../../test/support/temporary-home.ts"
import { systemClock } from "../../base/clock.ts"
import { createGit } from "./git.ts"
import { createWorktree, reopenWorktree } from "./open-worktree.ts"
import type { OpenedWorktree } from "./open-worktree.ts"
import { leaveWorktree } from "./remove-worktree.ts"
import type { Worktree } from "./worktree.ts"

const HOUR_MS = 3_600_000

async function place(repository?: Readonly<Record<string, string>>) {
  const home = await temporaryHome()
  const root = join(home.workdir, "my repö")
  if (repository !== undefined) makeRepository(root, repository)
  const runGit = createGit({ ...home.env, GIT_CONFIG_NOSYSTEM: "1" })
  const signal = new AbortController().signal
  const tools = { git: runGit, clock: systemClock, signal }
  return {
    home,
    root,
    create: (directory = root) => createWorktree(directory, tools),
    make: async (directory = root): Promise<OpenedWorktree> => {
      const created = await createWorktree(directory, tools)
      if (!created.ok) throw new Error(created.error.message)
      return created.value
    },
    reopen: (path: string) => reopenWorktree(path, tools),
    leave: (worktree: Worktree) => leaveWorktree(worktree, runGit, signal),
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

test("a worktree is made from HEAD on a branch of its own, ignored, and nothing is left of it when it goes", async () => {
  await using t = await place(FILES)
  plantHooks(t.root, join(t.home.workdir, "traces"))
  writeIn(t.root, "a.txt", "changed by the person\n")
  const before = pictureOf(join(t.root, ".git"))
  const { worktree, warnings, kept } = await t.make()
  const name = basename(worktree.path)
  expect(name).toMatch(/^hermes-[0-9a-f]{8}$/u)
  expect({ ...worktree, warnings, kept }).toEqual({
    path: join(t.root, ".worktrees", name),
    branch: `hermes/${name}`,
    root: t.root,
    commonDirectory: join(t.root, ".git"),
    ownDirectory: join(t.root, ".git/worktrees", name),
    base: git(t.root, "rev-parse", "HEAD"),
    startedIn: "",
    included: [],
    warnings: [],
    kept: [],
  })
  expect(readFileSync(join(worktree.path, "a.txt"), "utf8")).toBe("one\n")
  expect(readFileSync(join(worktree.path, "src/ü b.txt"), "utf8")).toBe("two\n")
  expect(readFileSync(join(t.root, ".gitignore"), "utf8")).toBe(".env\nnode_modules/\n.worktrees/\n")
  expect(git(worktree.path, "branch", "--show-current")).toBe(worktree.branch)
  expect(await t.leave(worktree)).toEqual({ kind: "removed" })
  const folders = ["/logs/refs/heads/hermes", "/refs/heads/hermes", "/worktrees", "/packed-refs"]
  const after = Object.entries(pictureOf(join(t.root, ".git"))).filter(([path]) => !folders.includes(path))
  expect(Object.fromEntries(after)).toEqual(before)
  expect([readdirSync(join(t.root, ".worktrees")), readdirSync(join(t.home.workdir, "traces"))]).toEqual([[], []])
})

test("a folder below the root, a second line in .gitignore, and line ends", async () => {
  await using t = await place({ "sub/b.txt": "b\n", ".gitignore": "x\r\n" })
  const first = await t.make(join(t.root, "sub"))
  const second = await t.make()
  expect([first.worktree.startedIn, second.worktree.startedIn]).toEqual(["sub", ""])
  expect(readFileSync(join(t.root, ".gitignore"), "utf8")).toBe("x\r\n.worktrees/\r\n")
  expect(branches(t.root)).toEqual([first.worktree.branch, second.worktree.branch, "main"].toSorted())
})

test("rules that ignore the folder already are enough, and a linked .gitignore is left alone", async () => {
  await using t = await place({ "a.txt": "", rules: "x\n" })
  symlinkSync("rules", join(t.root, ".gitignore"))
  const { worktree } = await t.make()
  expect(readFileSync(join(t.root, "rules"), "utf8")).toBe("x\n")
  expect(readFileSync(join(t.root, ".git/info/exclude"), "utf8")).toMatch(/\n\.worktrees\/\n$/u)
  await t.leave(worktree)
  await t.make()
  expect(readFileSync(join(t.root, ".git/info/exclude"), "utf8").match(/\.worktrees/gu)).toHaveLength(1)
})

test("several at once", async () => {
  await using t = await place(FILES)
  const made = await Promise.all(Array.from({ length: 4 }, () => t.make()))
  expect(new Set(made.map(({ worktree }) => worktree.path)).size).toBe(4)
  expect(readFileSync(join(t.root, ".gitignore"), "utf8").match(/\.worktrees/gu)).toHaveLength(1)
  expect(await Promise.all(made.map(({ worktree }) => t.leave(worktree)))).toEqual(
    made.map(() => ({ kind: "removed" })),
  )
  expect(branches(t.root)).toEqual(["main"])
})

test("from inside a worktree of ours another one is made beside it", async () => {
  await using t = await place(FILES)
  const { worktree } = await t.make()
  writeIn(worktree.path, "new.txt", "n")
  git(worktree.path, "add", ".")
  git(worktree.path, "commit", "-qm", "inner")
  const inner = await t.make(join(worktree.path, "src"))
  expect([inner.worktree.root, readdirSync(inner.worktree.path).includes("new.txt")]).toEqual([t.root, true])
})

describe("places where none can be made", () => {
  const NOTHING = { "a.txt": "" }
  const cases: readonly {
    readonly name: string
    readonly kind: string
    readonly says: RegExp
    readonly prepare: (root: string) => string | void
  }[] = [
    {
      name: "no repository",
      kind: "outside",
      says: /is in no git repository; go to one$/u,
      prepare: (root) => rmSync(join(root, ".git"), { recursive: true }),
    },
    {
      name: "no commits",
      kind: "unusable",
      says: /^the branch fresh has no commit yet; make a first one$/u,
      prepare: (root) => void git(root, "checkout", "--orphan", "fresh"),
    },
    {
      name: "a bare repository",
      kind: "unusable",
      says: /is a bare repository, without files to work on; clone it, or go to one of its worktrees$/u,
      prepare: (root) => {
        git(root, "clone", "--quiet", "--bare", root, `${root}.git`)
        return `${root}.git`
      },
    },
    { name: "git's own folder", kind: "unusable", says: /go to the checkout$/u, prepare: (root) => join(root, ".git") },
    {
      name: "an unreadable branch",
      kind: "unusable",
      says: /^git cannot read HEAD, /u,
      prepare: (root) => writeFileSync(join(root, ".git/refs/heads/main"), "garbage\n"),
    },
    {
      name: "an unreadable HEAD",
      kind: "unusable",
      says: /^git cannot read the repository at .*my repö: not a git repository/u,
      prepare: (root) => writeFileSync(join(root, ".git/HEAD"), "garbage\n"),
    },
    {
      name: "a lost commit",
      kind: "unusable",
      says: /^git cannot read HEAD, /u,
      prepare: (root) =>
        rmSync(join(root, ".git/objects"), { recursive: true }) ?? mkdirSync(join(root, ".git/objects")),
    },
    {
      name: "a branch in the way",
      kind: "unusable",
      says: /; rename the branch hermes, worktrees use branches below that name$/u,
      prepare: (root) => void git(root, "branch", "hermes"),
    },
    {
      name: "a file in the way",
      kind: "unusable",
      says: /\.worktrees, which is not a directory; rename it$/u,
      prepare: (root) => writeFileSync(join(root, ".worktrees"), ""),
    },
    {
      name: "a link in the way",
      kind: "unusable",
      says: /\.worktrees, which is not a directory; rename it$/u,
      prepare: (root) => symlinkSync("somewhere", join(root, ".worktrees")),
    },
  ]
  test.each(cases)("$name", async ({ kind, says, prepare }) => {
    await using t = await place(NOTHING)
    const directory = prepare(t.root) ?? t.root
    const created = await t.create(directory)
    expect(created).toEqual({ ok: false, error: { kind, message: expect.stringMatching(says) as string } })
    const made = readdirSync(t.root, { recursive: true, encoding: "utf8" }).filter((name) => /worktrees\/./u.test(name))
    expect(made).toEqual([])
  })

  test("no git at all", async () => {
    await using t = await place(NOTHING)
    const signal = new AbortController().signal
    expect(await createWorktree(t.root, { git: createGit({ PATH: "/nowhere" }), clock: systemClock, signal })).toEqual({
      ok: false,
      error: { kind: "unusable", message: "a worktree needs git, which cannot be started here; install it" },
    })
  })

  test("a checkout that is interrupted leaves nothing", async () => {
    await using t = await place({ ...FILES, ".gitattributes": "*.txt filter=slow\n" })
    const started = join(t.home.workdir, "started")
    git(t.root, "config", "filter.slow.smudge", `touch "${started}"; exec sleep 60`)
    git(t.root, "config", "filter.slow.required", "true")
    const stop = new AbortController()
    const signal = stop.signal
    const creating = createWorktree(t.root, { git: createGit(t.home.env), clock: systemClock, signal })
    while (!existsSync(started)) await new Promise(setImmediate)
    stop.abort()
    expect(await creating).toMatchObject({ ok: false, error: { kind: "unusable" } })
    expect(readdirSync(join(t.root, ".worktrees"))).toEqual([])
    expect(branches(t.root)).toEqual(["main"])
    expect(git(t.root, "worktree", "list").split("\n")).toHaveLength(1)
  })
})

describe("what .worktreeinclude names", () => {
  test("files are copied, directories linked, and neither counts as work", async () => {
    await using t = await place(FILES)
    writeIn(t.root, ".env", "KEY=1\n")
    chmodSync(join(t.root, ".env"), 0o600)
    writeIn(t.root, "node_modules/x.js", "x")
    writeIn(t.root, "conf/local/deep.ini", "y")
    writeIn(
      t.root,
      ".worktreeinclude",
      "# mine\r\n\r\n.env\r\n  node_modules/  \r\nconf/local/deep.ini\nmissing\na.txt\n",
    )
    const { worktree, warnings } = await t.make()
    expect(warnings).toEqual([])
    expect((await t.reopen(worktree.path))?.included).toEqual(worktree.included)
    expect(worktree.included).toEqual([".env", "node_modules", "conf/local/deep.ini"])
    expect(readFileSync(join(worktree.path, ".env"), "utf8")).toBe("KEY=1\n")
    expect(readlinkSync(join(worktree.path, "node_modules"))).toBe(join(t.root, "node_modules"))
    expect(readFileSync(join(worktree.path, "conf/local/deep.ini"), "utf8")).toBe("y")
    expect(await t.leave(worktree)).toEqual({ kind: "removed" })
    expect(readFileSync(join(t.root, "node_modules/x.js"), "utf8")).toBe("x")
  })

  test("a copy that was changed is work", async () => {
    await using t = await place(FILES)
    writeIn(t.root, "notes.ini", "a\n")
    writeIn(t.root, ".worktreeinclude", "notes.ini\n")
    const { worktree } = await t.make()
    writeIn(worktree.path, "notes.ini", "b\n")
    expect(await t.leave(worktree)).toEqual({ kind: "kept", what: "1 changed file" })
  })

  test("nothing comes from outside or goes outside", async () => {
    await using t = await place(FILES)
    const outside = join(t.home.workdir, "outside")
    writeIn(outside, "secret", "s")
    symlinkSync(outside, join(t.root, "way-out"))
    symlinkSync(join(outside, "secret"), join(t.root, "linked-secret"))
    // A tracked link: in the worktree it leads out too.
    git(t.root, "add", "way-out")
    git(t.root, "commit", "-qm", "link")
    rmSync(join(t.root, "way-out"))
    writeIn(t.root, "way-out/new", "n")
    execFileSync("mkfifo", [join(t.root, "pipe")])
    const names = [
      "../outside/secret",
      outside,
      "linked-secret",
      "way-out/new",
      ".git/config",
      ".worktrees",
      ".",
      "pipe",
    ]
    writeIn(t.root, ".worktreeinclude", names.join("\n"))
    const { worktree, warnings } = await t.make()
    expect([worktree.included, warnings]).toEqual([
      [],
      [
        ".worktreeinclude: ../outside/secret is not inside the repository",
        `.worktreeinclude: ${outside} is not inside the repository`,
        ".worktreeinclude: linked-secret leads out of the repository",
        ".worktreeinclude: way-out/new would be written outside the worktree",
        ".worktreeinclude: .git/config belongs to git, not to the project",
        ".worktreeinclude: .worktrees belongs to git, not to the project",
        ".worktreeinclude: pipe is neither a file nor a directory",
      ],
    ])
    expect(readdirSync(outside)).toEqual(["secret"])
  })
})

describe("what stays when the conversation ends", () => {
  const cases: readonly { readonly name: string; readonly what: string; readonly work: (path: string) => void }[] = [
    { name: "a changed file", what: "1 changed file", work: (path) => writeIn(path, "a.txt", "x") },
    {
      name: "new files",
      what: "2 changed files",
      work: (path) => (writeIn(path, "n/1", ""), writeIn(path, "n/2", "")),
    },
    { name: "a renamed file", what: "1 changed file", work: (path) => void git(path, "mv", "a.txt", "ä b.txt") },
    { name: "a commit", what: "1 commit of its own", work: (path) => commit(path) },
    {
      name: "a commit on no branch",
      what: "1 commit of its own",
      work: (path) => {
        git(path, "checkout", "--quiet", "--detach")
        commit(path)
      },
    },
    {
      name: "both",
      what: "1 changed file and 2 commits of its own",
      work: (path) => {
        commit(path, "1")
        commit(path, "2")
        writeIn(path, "a.txt", "x")
      },
    },
  ]
  test.each(cases)("$name", async ({ what, work }) => {
    await using t = await place(FILES)
    const { worktree } = await t.make()
    work(worktree.path)
    expect(await t.leave(worktree)).toEqual({ kind: "kept", what })
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
  ])("a commit that was $name is not lost with it, and it goes", async ({ share }) => {
    await using t = await place(FILES)
    const { worktree } = await t.make()
    commit(worktree.path)
    share(t, worktree.branch)
    expect(await t.leave(worktree)).toEqual({ kind: "removed" })
    expect(branches(t.root)).not.toContain(worktree.branch)
  })

  test("from a detached HEAD that no branch has: the person's commits are no work of the worktree", async () => {
    await using t = await place(FILES)
    git(t.root, "checkout", "--quiet", "--detach")
    commit(t.root)
    const { worktree } = await t.make()
    expect(await t.leave(worktree)).toEqual({ kind: "removed" })
  })

  test("ignored build output goes; a person's setting that hides new files hides nothing here", async () => {
    await using t = await place(FILES)
    git(t.root, "config", "status.showUntrackedFiles", "no")
    const first = await t.make()
    writeIn(first.worktree.path, ".env", "built")
    expect(await t.leave(first.worktree)).toEqual({ kind: "removed" })
    const second = await t.make()
    writeIn(second.worktree.path, "new", "")
    expect(await t.leave(second.worktree)).toEqual({ kind: "kept", what: "1 changed file" })
  })

  test("a .git file that a command has changed leads nowhere", async () => {
    await using t = await place(FILES)
    const { worktree } = await t.make()
    const evil = makeRepository(join(worktree.path, "evil"))
    git(evil, "config", "core.fsmonitor", `touch ${join(t.home.workdir, "ran")}`)
    writeFileSync(join(worktree.path, ".git"), `gitdir: ${join(evil, ".git")}\n`)
    expect(await t.leave(worktree)).toMatchObject({ kind: "kept" })
    expect(existsSync(join(t.home.workdir, "ran"))).toBe(false)
  })

  test("a repository that a command has put inside runs none of its programs", async () => {
    await using t = await place(FILES)
    const { worktree } = await t.make()
    const inner = makeRepository(join(worktree.path, "inner"), {
      "a.txt": "one\n",
      ".gitattributes": "* filter=evil\n",
    })
    git(inner, "config", "filter.evil.clean", `touch ${join(t.home.workdir, "ran")}; cat`)
    git(worktree.path, "add", "inner")
    git(worktree.path, "commit", "-qm", "inner")
    writeIn(inner, "a.txt", "two\n")
    rmSync(join(t.home.workdir, "ran"), { force: true })
    expect(await t.leave(worktree)).toEqual({ kind: "kept", what: "there are submodules with files in it" })
    expect(existsSync(join(t.home.workdir, "ran"))).toBe(false)
  })

  test("submodules: an untouched one is no work, one that was set up in the worktree is kept", async () => {
    await using t = await place(FILES)
    const module = makeRepository(join(t.home.workdir, "module"))
    git(t.root, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", module, "lib")
    git(t.root, "commit", "-qm", "module")
    const first = await t.make()
    expect(await t.leave(first.worktree)).toEqual({ kind: "removed" })
    const second = await t.make()
    git(second.worktree.path, "-c", "protocol.file.allow=always", "submodule", "--quiet", "update", "--init")
    expect(await t.leave(second.worktree)).toEqual({ kind: "kept", what: "submodules were set up in it" })
    const inside = await t.make(join(t.root, "lib"))
    expect(inside.worktree.root).toBe(join(t.root, "lib"))
    expect(await t.leave(inside.worktree)).toEqual({ kind: "removed" })
  })
})

describe("worktrees that were left behind", () => {
  test.each([
    { hours: 23, work: "none", gone: false, told: false },
    { hours: 25, work: "none", gone: true, told: false },
    { hours: 25, work: "commit", gone: false, told: false },
    { hours: 25, work: "change", gone: false, told: false },
    { hours: 73, work: "none", gone: true, told: false },
    { hours: 73, work: "commit", gone: false, told: true },
    { hours: 73, work: "change", gone: false, told: true },
  ])("after $hours h with $work", async ({ hours, work, gone, told }) => {
    await using t = await place(FILES)
    const { worktree } = await t.make()
    rmSync(join(worktree.ownDirectory, `hermes-open-${process.pid}`))
    if (work === "commit") commit(worktree.path)
    if (work === "change") writeIn(worktree.path, "a.txt", "x")
    age(worktree.path, hours)
    const { kept } = await t.make()
    expect([existsSync(worktree.path), branches(t.root).includes(worktree.branch), kept]).toEqual([
      !gone,
      !gone,
      told ? [worktree.path] : [],
    ])
  })

  test("one in which another process works stays, one of a process that is gone does not", async () => {
    await using t = await place(FILES)
    const [open, closed] = [await t.make(), await t.make()]
    const mark = (worktree: Worktree, pid: number, start: string): void => {
      rmSync(join(worktree.ownDirectory, `hermes-open-${process.pid}`))
      writeFileSync(join(worktree.ownDirectory, `hermes-open-${pid}`), start)
      age(worktree.path, 100)
    }
    mark(open.worktree, process.ppid, startOf(process.ppid))
    mark(closed.worktree, process.ppid, "earlier")
    const { kept } = await t.make()
    expect([existsSync(open.worktree.path), existsSync(closed.worktree.path), kept]).toEqual([true, false, []])
    expect(await t.leave(open.worktree)).toEqual({ kind: "in-use" })
  })

  test("one that git was still making goes; files that git does not know stay; what the person removed is forgotten", async () => {
    await using t = await place(FILES)
    const [half, foreign, removed] = [await t.make(), await t.make(), await t.make()]
    writeFileSync(join(half.worktree.ownDirectory, "locked"), "initializing\n")
    rmSync(join(half.worktree.path, "a.txt"))
    rmSync(foreign.worktree.ownDirectory, { recursive: true })
    rmSync(removed.worktree.path, { recursive: true })
    age(half.worktree.path, 25)
    age(foreign.worktree.path, 80)
    const { worktree, kept } = await t.make()
    expect([existsSync(half.worktree.path), existsSync(join(foreign.worktree.path, "a.txt")), kept]).toEqual([
      false,
      true,
      [foreign.worktree.path],
    ])
    expect(branches(t.root)).toEqual([foreign.worktree.branch, worktree.branch, "main"].toSorted())
  })
})

test("going on in one: only while it exists and belongs to this repository", async () => {
  await using t = await place(FILES)
  const { worktree } = await t.make()
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
  writeIn(path, name, "x")
  git(path, "add", "--all")
  git(path, "commit", "--quiet", "--message", name)
}

function startOf(pid: number): string {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8")
  return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19] ?? ""
}
