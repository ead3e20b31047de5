import { existsSync, readdirSync, readFileSync, rmSync, utimesSync } from "node:fs"
import { join } from "node:path"

import { describe, expect, test } from "vitest"

import { pictureOf } from "../integration/checkpoints-picture.ts"
import { findBubblewrap } from "../support/bubblewrap.ts"
import { git, makeRepository, plantHooks } from "../support/git-repository.ts"
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

const bubblewrap = await findBubblewrap()
const isWalled = "program" in bubblewrap
const PATH_IN_PROMPT =
  /git worktree of its own: (?<path>.*), branch (?<branch>\S+), made from the repository (?<root>.*)\.$/mu

interface Place extends AsyncDisposable {
  readonly home: TemporaryHome
  readonly root: string
  readonly model: ModelServer
  run(args: readonly string[], cwd?: string): Promise<ProcessResult>
}

async function place(script: readonly ScriptEntry[], more = ""): Promise<Place> {
  const model = await startModelServer(script)
  const home = await temporaryHome({ config: settingsFor(model, more) })
  const root = makeRepository(join(home.workdir, "a répo"), { "a.txt": "one\n", "sub/b.txt": "two\n" })
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

/** What the model was told about its place in one of the requests. */
function toldIn(model: ModelServer, request: number): Readonly<Record<string, string>> {
  const found = PATH_IN_PROMPT.exec(model.view(request).system)?.groups
  return { ...found }
}

const runs = (command: string): ScriptEntry => callsTool("terminal", { command })
const toolText = (model: ModelServer, request: number): string => model.toolResults(request).at(-1)?.text ?? ""
const worktreesOf = (root: string): readonly string[] =>
  existsSync(join(root, ".worktrees")) ? readdirSync(join(root, ".worktrees")) : []

test("-z -w works in a worktree, tells the model, and leaves nothing behind when nothing was done", async () => {
  await using t = await place([runs("pwd; git branch --show-current"), says("Looked.")])
  plantHooks(t.root, join(t.home.workdir, "traces"))
  const result = await t.run(["-z", "look", "-w"], join(t.root, "sub"))
  expect([result.code, result.stdout, result.stderr]).toEqual([0, "Looked.\n", ""])
  const { path = "", branch = "", root } = toldIn(t.model, 0)
  expect([root, path.startsWith(join(t.root, ".worktrees/hermes-"))]).toEqual([t.root, true])
  expect(t.model.view(0).system).toContain("The person started in the folder sub.")
  expect(toolText(t.model, 1)).toContain(JSON.stringify(`${path}\n${branch}`).slice(1, -1))
  expect(worktreesOf(t.root)).toEqual([])
  expect(readFileSync(join(t.root, ".gitignore"), "utf8")).toBe(".worktrees/\n")
  expect(readdirSync(join(t.home.workdir, "traces"))).toEqual([])
  expect(git(t.root, "branch", "--format=%(refname:short)")).toBe("main")
})

test("outside a repository: exit 1 with -w, as ever with only the setting", async () => {
  await using t = await place([says("Hello."), runs("pwd"), says("There.")], "worktree: true\n")
  const refused = await t.run(["-z", "hi", "-w"], t.home.workdir)
  expect([refused.code, refused.stdout, refused.stderr]).toEqual([
    1,
    "",
    `No worktree: ${t.home.workdir} is in no git repository; go to one, or leave --worktree out.\n`,
  ])
  expect((await t.run(["-z", "hi"], t.home.workdir)).stdout).toBe("Hello.\n")
  expect(toldIn(t.model, 0)).toEqual({})
  expect((await t.run(["chat", "-Q", "-q", "where"])).stdout).toBe("There.\n")
  expect(toolText(t.model, 2)).toContain(toldIn(t.model, 1)["path"])
})

test("a repository without commits, and a place elsewhere: a sentence, exit 1, nothing made", async () => {
  await using t = await place([], "terminal:\n  backend: ssh\n")
  expect((await t.run(["-z", "hi", "-w"])).stderr).toBe(
    "A worktree is on this machine, but terminal.backend is ssh: set it to local, or leave --worktree out.\n",
  )
  await using fresh = await place([], "worktree: true\n")
  git(fresh.root, "checkout", "--quiet", "--orphan", "fresh")
  const result = await fresh.run(["-z", "hi"])
  expect([result.code, result.stderr]).toEqual([
    1,
    "No worktree: the branch fresh has no commit yet; make a first one, or set worktree to false.\n",
  ])
  expect([worktreesOf(t.root), worktreesOf(fresh.root)]).toEqual([[], []])
})

describe.skipIf(!isWalled)("in the sandbox", () => {
  test("git commits in the worktree; the person's checkout, settings, hooks and branches stay unwritable", async () => {
    const hostile = `
      for place in ../../a.txt ../../.git/config ../../.git/hooks/evil ../../.git/refs/heads/main ../../.git/HEAD ../../.git/index .git \
        "$(git rev-parse --git-dir)/commondir" "$(git rev-parse --git-dir)/gitdir" "$(git rev-parse --git-dir)/config.worktree"; do
        (echo evil >> "$place") 2>/dev/null && echo "wrote $place"
        mv -f "$place" "$place.gone" 2>/dev/null && echo "moved $place"
      done
      git config core.hooksPath /tmp 2>/dev/null && echo configured
      git branch -f main HEAD~0 2>/dev/null && echo branched
      echo tried`
    // The repository lies in a place that commands may write, and is protected all the same.
    await using t = await place(
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
    const before = pictureOf(t.root, [".worktrees", "objects", "worktrees", "hermes"])
    const result = await t.run(["-z", "work", "-w", "--yolo"])
    const { path = "", branch = "" } = toldIn(t.model, 0)
    expect([result.code, result.stdout, result.stderr]).toEqual([
      0,
      "Committed.\n",
      `Kept ${path} (branch ${branch}): 1 commit of its own.\n`,
    ])
    expect(JSON.parse(toolText(t.model, 1))).toMatchObject({ exit_code: 0, output: "2" })
    expect(JSON.parse(toolText(t.model, 2))).toMatchObject({ exit_code: 0, output: "tried" })
    const after = pictureOf(t.root, [".worktrees", "objects", "worktrees", "hermes"])
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

test("resuming: in the worktree while it exists, told once when it does not, and in a fresh one with -w", async () => {
  await using t = await place([
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
  const { path = "" } = toldIn(t.model, 0)
  expect([first.stdout, first.stderr]).toMatchObject([
    "Written.\n",
    expect.stringMatching(/^Kept .*: 1 changed file\.\n$/u),
  ])
  expect(readFileSync(join(path, "new.txt"), "utf8")).toBe("n\n")
  expect(existsSync(join(t.root, "new.txt"))).toBe(false)

  expect((await t.run(["-z", "where", "-c"], t.home.workdir)).stdout).toBe("Still there.\n")
  expect(toolText(t.model, 3)).toContain(path)
  expect([t.model.view(2).system, t.model.view(2).messages.at(-1)?.text]).toEqual([t.model.view(0).system, "where"])

  rmSync(path, { recursive: true })
  const gone = await t.run(["-z", "and now", "-c"], t.home.workdir)
  expect([gone.stdout, gone.stderr]).toEqual([
    "Elsewhere.\n",
    `The worktree of this conversation, ${path}, does not exist any more.\n`,
  ])
  expect(t.model.view(4).messages.at(-1)?.text).toBe(
    `and now\n\n[The place has changed. The worktree ${path} that this conversation worked in does not exist any more; ` +
      `the working directory is now ${t.home.workdir}.]`,
  )
  const again = await t.run(["-z", "sure", "-c"], t.home.workdir)
  expect([again.stderr, t.model.view(6).messages.at(-1)?.text]).toEqual(["", "sure"])

  expect((await t.run(["-z", "isolated", "-c", "-w"])).stdout).toBe("In a fresh one.\n")
  const last = t.model.view(7).messages.at(-1)?.text ?? ""
  expect(last).toMatch(/^isolated\n\n\[The place has changed\. You work in a git worktree of its own: /u)
  expect(toolText(t.model, 8)).toContain(PATH_IN_PROMPT.exec(last)?.groups?.["path"])
  expect(t.model.view(8).system).toBe(t.model.view(0).system)
})

test("Ctrl+C while the model answers: the worktree goes; kill -9: it stays, until it is a day old", async () => {
  await using t = await place([])
  for (const signal of ["SIGINT", "SIGKILL"] as const) {
    t.model.push({ ...says("Never."), ...waitsFor(new Promise(() => undefined)) })
    await using running = startHermes(t.home, ["-z", "wait", "-w"], { cwd: t.root, stdin: "inherit-null" })
    const died = running.exit.then(({ stderr }) => {
      throw new Error(`it ended before its first request: ${stderr}`)
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

test("a conversation: the banner names the worktree, checkpoints cover it alone, two at once do not meet", async () => {
  await using t = await place(
    [
      callsTool("write_file", { path: "a.txt", content: "spoiled\n" }),
      says("Spoiled."),
      callsTool("write_file", { path: "a.txt", content: "other\n" }),
      says("Other."),
    ],
    "approvals:\n  profile: full-auto\n",
  )
  const talk = (args: readonly string[]) =>
    openTerminal({ command: hermesCommand(), args, env: t.home.env, cwd: t.root, rows: 60, columns: 200 })
  await using one = await talk(["-w"])
  await one.waitFor(/^you> /mu)
  const path = /· (\/.*hermes-[0-9a-f]{8})/u.exec(one.screen().join("\n"))?.[1] ?? ""
  one.type("spoil it")
  one.press("enter")
  await one.waitFor("Spoiled.")
  await using other = await talk(["chat", "-w"])
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
  await one.waitFor("Back at ")
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
