import { existsSync, readdirSync, readFileSync, rmSync, utimesSync } from "node:fs"
import { join } from "node:path"

import { describe, expect, test } from "vitest"

import { directoryContents } from "../support/directory-contents.ts"
import { findBubblewrap } from "../support/bubblewrap.ts"
import { git, createRepository, installTracingHooks } from "../support/git-repository.ts"
import { startModelServer } from "../support/model-server/server.ts"
import type { ModelServer } from "../support/model-server/server.ts"
import { callsTool, says, waitsFor } from "../support/model-server/turn.ts"
import type { ScriptEntry } from "../support/model-server/turn.ts"
import { hermesCommand } from "../support/process-driver.ts"
import type { ProcessResult } from "../support/process-driver.ts"
import { temporaryHome } from "../support/temporary-home.ts"
import type { TemporaryHome } from "../support/temporary-home.ts"
import { openTerminal } from "../support/virtual-terminal.ts"
import { hermes, settingsFor, startHermes } from "./hermes-process.ts"
import { titleWithReason } from "../support/skip-reason.ts"

const bubblewrap = await findBubblewrap()
const hasSandbox = "program" in bubblewrap
const noSandbox = "missing" in bubblewrap ? bubblewrap.missing : undefined
const PATH_IN_PROMPT =
  /separate git worktree: (?<path>.*), branch (?<branch>\S+), created from the repository (?<root>.*)\.$/mu

interface WorktreeFixture extends AsyncDisposable {
  readonly home: TemporaryHome
  readonly root: string
  readonly model: ModelServer
  run(args: readonly string[], cwd?: string): Promise<ProcessResult>
}

async function createFixture(script: readonly ScriptEntry[], more = ""): Promise<WorktreeFixture> {
  const model = await startModelServer(script)
  const home = await temporaryHome({ config: settingsFor(model, more) })
  const root = createRepository(join(home.workdir, "a répo"), { "a.txt": "one\n", "sub/b.txt": "two\n" })
  return {
    home,
    root,
    model,
    run: (args, cwd = root) => hermes(home, args, { cwd, stdin: "inherit-null" }),
    [Symbol.asyncDispose]: async () => {
      await model[Symbol.asyncDispose]()
      await home[Symbol.asyncDispose]()
    },
  }
}

/** The worktree that the prompt of a request names. */
function promptedWorktree(model: ModelServer, request: number): Readonly<Record<string, string>> {
  const found = PATH_IN_PROMPT.exec(model.view(request).system)?.groups
  return { ...found }
}

const runs = (command: string): ScriptEntry => callsTool("terminal", { command })
const toolText = (model: ModelServer, request: number): string => model.toolResults(request).at(-1)?.text ?? ""
const worktreesOf = (root: string): readonly string[] =>
  existsSync(join(root, ".worktrees")) ? readdirSync(join(root, ".worktrees")) : []

test("-z -w works in a worktree, tells the model, and removes it when nothing changed", async () => {
  await using t = await createFixture([runs("pwd; git branch --show-current"), says("Looked.")])
  installTracingHooks(t.root, join(t.home.workdir, "traces"))
  const result = await t.run(["-z", "look", "-w"], join(t.root, "sub"))
  expect([result.code, result.stdout, result.stderr]).toEqual([0, "Looked.\n", ""])
  const { path = "", branch = "", root } = promptedWorktree(t.model, 0)
  expect([root, path.startsWith(join(t.root, ".worktrees/hermes-"))]).toEqual([t.root, true])
  expect(t.model.view(0).system).toContain("The user started in the subdirectory sub.")
  expect(toolText(t.model, 1)).toContain(JSON.stringify(`${path}\n${branch}`).slice(1, -1))
  expect(worktreesOf(t.root)).toEqual([])
  expect(readFileSync(join(t.root, ".gitignore"), "utf8")).toBe(".worktrees/\n")
  expect(readdirSync(join(t.home.workdir, "traces"))).toEqual([])
  expect(git(t.root, "branch", "--format=%(refname:short)")).toBe("main")
})

test("outside a repository -w exits 1; the setting alone is ignored", async () => {
  await using t = await createFixture([says("Hello."), runs("pwd"), says("There.")], "worktree: true\n")
  const refused = await t.run(["-z", "hi", "-w"], t.home.workdir)
  expect([refused.code, refused.stdout, refused.stderr]).toEqual([
    1,
    "",
    `No worktree: ${t.home.workdir} is not in a git repository; change to one, or omit --worktree.\n`,
  ])
  expect((await t.run(["-z", "hi"], t.home.workdir)).stdout).toBe("Hello.\n")
  expect(promptedWorktree(t.model, 0)).toEqual({})
  expect((await t.run(["chat", "-Q", "-q", "where"])).stdout).toBe("There.\n")
  expect(toolText(t.model, 2)).toContain(promptedWorktree(t.model, 1)["path"])
})

test("a repository without commits and a remote workspace exit 1 and create nothing", async () => {
  await using t = await createFixture([], "terminal:\n  backend: ssh\n")
  expect((await t.run(["-z", "hi", "-w"])).stderr).toBe(
    "A worktree is on this machine, but terminal.backend is ssh: set it to local, or omit --worktree.\n",
  )
  await using fresh = await createFixture([], "worktree: true\n")
  git(fresh.root, "checkout", "--quiet", "--orphan", "fresh")
  const result = await fresh.run(["-z", "hi"])
  expect([result.code, result.stderr]).toEqual([
    1,
    "No worktree: the branch fresh has no commits yet; create one first, or set worktree to false.\n",
  ])
  expect([worktreesOf(t.root), worktreesOf(fresh.root)]).toEqual([[], []])
})

describe.skipIf(!hasSandbox)(titleWithReason("in the sandbox", noSandbox), () => {
  test("git commits in the worktree; the user's checkout, settings, hooks and branches cannot be written", async () => {
    const hostile = `
      for path in ../../a.txt ../../.git/config ../../.git/hooks/evil ../../.git/refs/heads/main ../../.git/HEAD ../../.git/index .git \
        "$(git rev-parse --git-dir)/commondir" "$(git rev-parse --git-dir)/gitdir" "$(git rev-parse --git-dir)/config.worktree"; do
        (echo evil >> "$path") 2>/dev/null && echo "wrote $path"
        mv -f "$path" "$path.gone" 2>/dev/null && echo "moved $path"
      done
      git config core.hooksPath /tmp 2>/dev/null && echo configured
      git branch -f main HEAD~0 2>/dev/null && echo branched
      echo tried`
    // The repository is in a writable directory, but must be protected anyway.
    await using t = await createFixture(
      [
        runs(
          "echo new > new.txt && git add -A && git commit -qm work && git commit -q --amend -m better && git log --oneline | wc -l",
        ),
        runs(hostile),
        says("Committed."),
        runs("git fetch -q origin && git rebase -q origin/main && git push -q origin HEAD:feature && git status -sb"),
        says("Pushed."),
      ],
      "terminal:\n  sandbox_write: ['~/../work']\n",
    )
    const remote = join(t.home.workdir, "remote.git")
    git(t.root, "clone", "--quiet", "--bare", t.root, remote)
    git(t.root, "remote", "add", "origin", remote)
    git(t.root, "fetch", "--quiet", "origin")
    const before = directoryContents(t.root, [".worktrees", "objects", "worktrees", "hermes"])
    const result = await t.run(["-z", "work", "-w", "--yolo"])
    const { path = "", branch = "" } = promptedWorktree(t.model, 0)
    expect([result.code, result.stdout, result.stderr]).toEqual([
      0,
      "Committed.\n",
      `Kept ${path} (branch ${branch}): 1 unmerged commit.\n`,
    ])
    expect(JSON.parse(toolText(t.model, 1))).toMatchObject({ exit_code: 0, output: "2" })
    expect(JSON.parse(toolText(t.model, 2))).toMatchObject({ exit_code: 0, output: "tried" })
    const after = directoryContents(t.root, [".worktrees", "objects", "worktrees", "hermes"])
    expect(after).toEqual({ ...before, "/.gitignore": after["/.gitignore"] })
    expect(git(t.root, "log", "--format=%s", branch)).toBe("better\nfirst")

    const pushed = await t.run(["-z", "push", "-c", "--yolo"])
    expect([pushed.stdout, pushed.stderr, toolText(t.model, 4)]).toMatchObject([
      "Pushed.\n",
      "",
      expect.stringContaining('"exit_code":0'),
    ])
    expect([git(remote, "log", "--format=%s", "feature"), worktreesOf(t.root)]).toEqual(["better\nfirst", []])
  })
})

test("resumes in the worktree while it exists, reports once when it does not, and uses a new one with -w", async () => {
  await using t = await createFixture([
    callsTool("write_file", { path: "new.txt", content: "n\n" }),
    says("Written."),
    runs("pwd"),
    says("Still there."),
    runs("pwd"),
    says("Elsewhere."),
    says("Yes."),
    runs("pwd"),
    says("In a fresh one."),
  ])
  const first = await t.run(["-z", "write", "-w"])
  const { path = "" } = promptedWorktree(t.model, 0)
  expect([first.stdout, first.stderr]).toMatchObject([
    "Written.\n",
    expect.stringMatching(/^Kept .*: 1 changed file\.\n$/u),
  ])
  expect(readFileSync(join(path, "new.txt"), "utf8")).toBe("n\n")
  expect(existsSync(join(t.root, "new.txt"))).toBe(false)

  expect((await t.run(["-z", "where", "-c", "--all"], t.home.workdir)).stdout).toBe("Still there.\n")
  expect(toolText(t.model, 3)).toContain(path)
  expect([t.model.view(2).system, t.model.view(2).messages.at(-1)?.text]).toEqual([t.model.view(0).system, "where"])

  rmSync(path, { recursive: true })
  const gone = await t.run(["-z", "and now", "-c", "--all"], t.home.workdir)
  expect([gone.stdout, gone.stderr]).toEqual([
    "Elsewhere.\n",
    `The worktree of this conversation, ${path}, no longer exists.\n`,
  ])
  expect(t.model.view(4).messages.at(-1)?.text).toBe(
    `and now\n\n[The workspace has changed. The worktree ${path} of this conversation no longer exists.\n` +
      `Current working directory: ${t.home.workdir}]`,
  )
  const again = await t.run(["-z", "sure", "-c"], t.home.workdir)
  expect([again.stderr, t.model.view(6).messages.at(-1)?.text]).toEqual(["", "sure"])

  expect((await t.run(["-z", "isolated", "-c", "--all", "-w"])).stdout).toBe("In a fresh one.\n")
  const last = t.model.view(7).messages.at(-1)?.text ?? ""
  expect(last).toMatch(/^isolated\n\n\[The workspace has changed\. You work in a separate git worktree: /u)
  expect(toolText(t.model, 8)).toContain(PATH_IN_PROMPT.exec(last)?.groups?.["path"])
  expect(t.model.view(8).system).toBe(t.model.view(0).system)
})

test("Ctrl+C removes the worktree; after kill -9 it stays until it is a day old", async () => {
  await using t = await createFixture([])
  for (const signal of ["SIGINT", "SIGKILL"] as const) {
    t.model.push({ ...says("Never."), ...waitsFor(new Promise(() => undefined)) })
    await using running = startHermes(t.home, ["-z", "wait", "-w"], { cwd: t.root, stdin: "inherit-null" })
    const died = running.exit.then(({ stderr }) => {
      throw new Error(`the process ended before its first request: ${stderr}`)
    })
    await Promise.race([t.model.received(signal === "SIGINT" ? 0 : 1), died])
    expect(worktreesOf(t.root)).toHaveLength(1)
    running.signal(signal)
    await running.exit
    expect(worktreesOf(t.root)).toHaveLength(signal === "SIGINT" ? 0 : 1)
  }
  const [left = ""] = worktreesOf(t.root)
  t.model.push(says("Fresh."), says("Old."))
  await t.run(["-z", "hi", "-w"])
  expect(worktreesOf(t.root)).toEqual([left])
  const then = new Date(Date.now() - 25 * 3_600_000)
  utimesSync(join(t.root, ".worktrees", left), then, then)
  await t.run(["-z", "hi", "-w"])
  expect(worktreesOf(t.root)).toEqual([])
})

test("in a conversation the banner names the worktree, checkpoints cover only it, and two conversations use separate ones", async () => {
  await using t = await createFixture(
    [
      callsTool("write_file", { path: "a.txt", content: "spoiled\n" }),
      says("Spoiled."),
      callsTool("write_file", { path: "a.txt", content: "other\n" }),
      says("Other."),
    ],
    "approvals:\n  profile: full-auto\n",
  )
  const openChat = (args: readonly string[]) =>
    openTerminal({ command: hermesCommand(), args, env: t.home.env, cwd: t.root, rows: 60, columns: 200 })
  await using one = await openChat(["-w"])
  await one.waitFor(/^you> /mu)
  const path = /· (\/.*hermes-[0-9a-f]{8})/u.exec(one.screen().join("\n"))?.[1] ?? ""
  one.type("spoil it")
  one.press("enter")
  await one.waitFor("Spoiled.")
  await using other = await openChat(["chat", "-w"])
  await other.waitFor(/^you> /mu)
  other.type("spoil it too")
  other.press("enter")
  await other.waitFor("Other.")
  expect(readFileSync(join(path, "a.txt"), "utf8")).toBe("spoiled\n")
  expect(readFileSync(join(t.root, "a.txt"), "utf8")).toBe("one\n")
  one.type("/rollback")
  one.press("enter")
  await one.waitFor(`Snapshots of ${path}`)
  one.type("/rollback 1")
  one.press("enter")
  await one.waitFor("Restored ")
  expect(readFileSync(join(path, "a.txt"), "utf8")).toBe("one\n")
  one.type("/quit")
  one.press("enter")
  await one.exit
  other.type("/quit")
  other.press("enter")
  await other.waitFor(/Kept .*: 1 changed file\./u)
  await other.exit
  expect(worktreesOf(t.root)).toHaveLength(1)
})
