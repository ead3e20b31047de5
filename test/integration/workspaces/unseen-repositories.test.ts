import { execFileSync, spawnSync } from "node:child_process"
import { existsSync, lstatSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"

import { describe, expect, test } from "vitest"

import { findBubblewrap } from "../../support/bubblewrap.ts"
import { createRepository, git } from "../../support/git-repository.ts"
import { callsTool, reply, says } from "../../support/model-server/turn.ts"
import { titleWithReason } from "../../support/skip-reason.ts"
import { assembleApp, runToEnd } from "../assembled-app.ts"

const bubblewrap = await findBubblewrap()
const missing = "missing" in bubblewrap ? bubblewrap.missing : undefined

/** `repo DIRECTORY` creates a repository with which git starts a program, `list REPOSITORY PATH` adds it to an index as a submodule. */
const FUNCTIONS = `
commit() { git -C "$1" -c user.name=x -c user.email=x@y commit -q --allow-empty -m x; }
clean() { git init -q \${FORMAT:-} "$1"; commit "$1"; }
repo() { clean "$1"; printf '[core]\\nfsmonitor = %s\\n' $PWD/evil.sh >> "$1/.git/config"; }
list() { git -C "$1" update-index --add --cacheinfo "160000,$(git -C "$1/$2" rev-parse HEAD),$2"; }
`

async function open(commands: readonly string[]) {
  const assembled = await assembleApp([], {
    config: "terminal: {sandbox: required}\ncheckpoints: {enabled: false}\nmemory: {nudge_interval: 0}\n",
  })
  const { workdir, path: hermesHome } = assembled.home
  const at = (name: string): string => join(workdir, name)
  // The sandbox hides this directory: only what runs outside can write there.
  const trace = join(hermesHome, "escaped")
  const write = (name: string, text: string, mode = 0o644): void => {
    mkdirSync(dirname(at(name)), { recursive: true })
    writeFileSync(at(name), text, { mode })
  }
  write("evil.sh", `#!/bin/sh\necho "$PWD" >> ${trace}\nexit 1\n`, 0o755)
  for (const [index, command] of commands.entries()) write(`step-${index}.sh`, `${FUNCTIONS}${command}\n`)
  return {
    assembled,
    workdir,
    at,
    write,
    has: (name: string) => lstatSync(at(name), { throwIfNoEntry: false }) !== undefined,
    /** Runs the commands in the sandbox, one turn each. Returns what the user sees. */
    run: async () => {
      const session = await assembled.open()
      const texts: string[] = []
      for (const index of commands.keys()) {
        assembled.model.push(callsTool("terminal", { command: `sh step-${index}.sh` }), says("Done."))
        const { events, end } = await runToEnd(session, "go on")
        texts.push(...events.flatMap((event) => (event.type === "status" ? [event.text] : [])))
        texts.push(...(end.result.notes ?? []))
      }
      await session.close("test_end")
      return texts.join("\n")
    },
    /** Returns where the user's git started the program. */
    useGit: (...directories: readonly string[]) => {
      rmSync(trace, { force: true })
      for (const name of [".", ...directories])
        spawnSync("git", ["status", "--short"], { cwd: at(name), timeout: 20_000, killSignal: "SIGKILL" })
      return existsSync(trace) ? readFileSync(trace, "utf8") : ""
    },
    [Symbol.asyncDispose]: () => assembled[Symbol.asyncDispose](),
  }
}

describe.skipIf(missing !== undefined)(titleWithReason("repositories that a search does not see", missing), () => {
  test("named pipes where git has files stop neither the check nor the next start", async () => {
    await using opened = await open([
      `for name in config index commondir HEAD; do mkdir -p lib-$name; clean lib-$name; rm -f lib-$name/.git/$name; mkfifo lib-$name/.git/$name; done
mkdir pipe; mkfifo pipe/.git pipe/AGENTS.md .envrc
repo zsub; list . zsub; repo build/zs2; list . build/zs2; echo evil > mise.toml`,
      "rm .git/index; mkfifo .git/index; mkfifo src/deep/AGENTS.md; mkfifo .git/modules; echo x > .git/worktrees",
      "ls; echo evil > mise.toml",
    ])
    createRepository(opened.workdir, { "src/deep/a.txt": "a\n" })
    // One that has been there before.
    createRepository(opened.at("old"))
    rmSync(opened.at("old/.git/config"))
    execFileSync("mkfifo", [opened.at("old/.git/config"), opened.at("CLAUDE.md")])
    const texts = await opened.run()
    expect([".envrc", "mise.toml", ".git/index", "src/deep/AGENTS.md", "pipe/AGENTS.md"].filter(opened.has)).toEqual([])
    for (const name of ["config", "index", "commondir", "HEAD"]) {
      expect(opened.has(`lib-${name}/.git/${name}`)).toBe(false)
      expect(texts).toContain(`lib-${name}/.git/${name}`)
    }
    expect(texts).toContain("is not a regular file")
    expect(opened.useGit("zsub", "build/zs2", "lib-index")).toBe("")
    opened.assembled.model.push(says("Hello."))
    const { end } = await runToEnd(await opened.assembled.open(), "hello")
    expect(end.outcome).toBe("completed")
  })

  test("nested submodules, a split index, and settings that are too large to be read", async () => {
    await using opened = await open([
      `clean build/outer; mkdir build/outer/build; repo build/outer/build/in; list build/outer build/in; list . build/outer
clean build/a; list build/a ../outer; list build/outer ../a
clean lib; repo lib/build/x; list lib build/x
clean big; { printf '[core]\\n'; yes '# comment' | head -n 500000; printf 'fsmonitor = %s\\n' $PWD/evil.sh; } > big/.git/config
ln -s $PWD/later big/.git/config.worktree`,
      "repo build/one; list . build/one; git update-index --split-index; repo build/two; list . build/two",
      `caches=~/.cargo/registry; repo $caches/a; repo $caches/b; mkdir sub cached; echo gitdir: $caches/a/.git > sub/.git; list . sub
ln -s $caches/b/.git cached/.git; ln -s $caches/b link; mkdir $caches/c; ln -s $caches/c harmless`,
    ])
    createRepository(opened.workdir)
    // Commands can write the caches of package managers, which are not a part of the project.
    mkdirSync(join(opened.assembled.home.userHome, ".cargo/registry"), { recursive: true })
    const texts = await opened.run()
    expect(opened.useGit("lib", "big", "sub", "cached")).toBe("")
    expect([opened.has("link"), opened.has("harmless")]).toEqual([false, true])
    expect(texts).toContain(".cargo/registry/a/.git")
    for (const name of ["build/outer/build/in", "lib/build/x", "build/one", "build/two", "big"])
      expect(texts).toContain(`${name}/.git`)
  })

  test("the index of a worktree outside the project, whose paths lead back into it", async () => {
    const steps = ".git/worktrees/side/rebase-merge/git-rebase-todo"
    await using opened = await open([
      String.raw`repo build/e; export GIT_DIR=$PWD/.git/worktrees/side; git update-index --add --cacheinfo "160000,$(git --git-dir build/e/.git rev-parse HEAD),xx/work/build/e"
LC_ALL=C sed -i 's#xx/work/build/e#../work/build/e#' .git/worktrees/side/index; mkdir .git/worktrees/side/rebase-merge; echo "exec ./evil.sh" > ${steps}`,
    ])
    createRepository(opened.workdir)
    git(opened.workdir, "worktree", "add", "--quiet", "../side")
    const texts = await opened.run()
    expect(opened.useGit("../side")).toBe("")
    expect(texts).toContain("build/e/.git")
    expect(readFileSync(opened.at(steps), "utf8")).toBe("# exec ./evil.sh\n")
  })

  test("settings and hooks of a bare repository that was there before", async () => {
    await using opened = await open([
      `printf '[core]\\nfsmonitor = %s\\n' $PWD/evil.sh >> srv.git/config; cp evil.sh srv.git/hooks/post-index-change
d=a/b/c/d/e/srv.git; printf '[core]\\nfsmonitor = %s\\n' $PWD/evil.sh >> $d/config; cp evil.sh $d/hooks/post-index-change`,
    ])
    for (const name of ["srv.git", "a/b/c/d/e/srv.git"]) {
      mkdirSync(opened.at(dirname(name)), { recursive: true })
      execFileSync("git", ["init", "--quiet", "--bare", opened.at(name)])
      execFileSync("git", ["-C", opened.at(name), "config", "core.bare", "false"])
      execFileSync("git", ["-C", opened.at(name), "config", "core.worktree", opened.workdir])
    }
    await opened.run()
    expect(opened.useGit("srv.git", "a/b/c/d/e/srv.git")).toBe("")
  })

  test("a repository with SHA-256, and an index with more files than Hermes reads itself", async () => {
    await using opened = await open([
      "export FORMAT=--object-format=sha256; repo build/sub; list . build/sub",
      `export FORMAT=--object-format=sha256; b=$(git hash-object -w a.txt)
seq -f "100644 $b\tsrc/%0100.0f" 60000 | git update-index --index-info
repo build/large; list . build/large`,
    ])
    mkdirSync(opened.workdir, { recursive: true })
    execFileSync("git", ["init", "--quiet", "--object-format=sha256", opened.workdir])
    opened.write("a.txt", "a\n")
    const texts = await opened.run()
    expect(opened.useGit()).toBe("")
    expect(texts).toContain("build/sub/.git")
    expect(texts).toContain("build/large/.git")
  })

  test("repositories that are known but were not remembered: too many of them, and found while the next command runs", async () => {
    await using opened = await open([
      "clean many/0; for i in $(seq 420); do cp -r many/0 many/$i; done",
      "for i in $(seq 0 420); do printf '[core]\\nfsmonitor = %s\\n' $PWD/evil.sh >> many/$i/.git/config; done",
      "seq -f z/%g 3000 | xargs mkdir -p; clean a/b/c/d/e/n",
      "sleep 1; printf '[core]\\nfsmonitor = %s\\n' $PWD/evil.sh >> a/b/c/d/e/n/.git/config",
    ])
    createRepository(opened.workdir)
    const session = await opened.assembled.open()
    const call = (index: number) => ({ name: "terminal", input: { command: `sh step-${index}.sh` } })
    for (const calls of [[call(0)], [call(1)], [call(2), call(3)]]) {
      opened.assembled.model.push(reply({ calls }), says("Done."))
      await runToEnd(session, "go on")
    }
    await session.close("test_end")
    const repositories = ["a/b/c/d/e/n", ...Array.from({ length: 421 }, (_, index) => `many/${index}`)]
    expect(repositories.filter((name) => !opened.has(`${name}/.git`))).toEqual([])
    const settings = repositories.map((name) => `${name}/.git/config`).filter(opened.has)
    expect(settings.filter((name) => readFileSync(opened.at(name), "utf8").includes("fsmonitor"))).toEqual([])
  })

  test("a repository whose settings a background process touches all the time until it changes them", async () => {
    await using opened = await open([
      `clean nested; clean other; until [ -e go ]; do touch -c nested/.git/config other/.git/hooks other/.git/config; done
printf '[core]\\nfsmonitor = %s\\n' $PWD/evil.sh >> nested/.git/config; cp evil.sh other/.git/hooks/post-index-change; touch done; sleep 100`,
    ])
    createRepository(opened.workdir)
    const wait = (name: string): string => `until [ -e ${name} ]; do sleep 0.02; done`
    const session = await opened.assembled.open()
    opened.assembled.model.push(
      callsTool("terminal", { command: "sh step-0.sh", background: true }),
      ...[wait("other/.git/index"), "true", "true", `touch go; ${wait("done")}`].map((command) =>
        callsTool("terminal", { command }),
      ),
      says("Done."),
    )
    const { events, end } = await runToEnd(session, "go on")
    const shown = events.flatMap((event) => (event.type === "status" ? [event.text] : []))
    const texts = [...shown, ...(end.result.notes ?? [])].join("\n")
    expect(texts).toContain("nested/.git")
    expect(texts).toContain("other/.git")
    expect(opened.useGit("nested")).toBe("")
    await session.close("test_end")
  })
})
