import { spawnSync } from "node:child_process"
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"

import { expect, test } from "vitest"

import { findBubblewrap } from "../../support/bubblewrap.ts"
import { createRepository, git } from "../../support/git-repository.ts"
import { callsTool, says } from "../../support/model-server/turn.ts"
import { titleWithReason } from "../../support/skip-reason.ts"
import { assembleApp, runToEnd } from "../assembled-app.ts"

const bubblewrap = await findBubblewrap()
const missing = "missing" in bubblewrap ? bubblewrap.missing : undefined
const walled = test.skipIf(missing !== undefined)

/** Ways to leave settings or hooks with which git starts `$EVIL`, and the directories in which the user runs git later. */
const PLANTS: readonly { readonly plant: string; readonly places: readonly string[] }[] = [
  {
    plant:
      "GIT_SEQUENCE_EDITOR='sed -i 1ibreak' git rebase -q -i HEAD~1; echo exec $EVIL >> .git/rebase-merge/git-rebase-todo",
    places: ["."],
  },
  { plant: "git config core.fsmonitor $EVIL; git status", places: ["."] },
  { plant: `printf '[core]\\nfsmonitor = %s\\n' $EVIL >> .git/config`, places: ["."] },
  { plant: "git config extensions.worktreeConfig true; git config --worktree core.fsmonitor $EVIL", places: ["."] },
  { plant: "cp $EVIL .git/hooks/post-index-change", places: ["."] },
  {
    plant:
      "git -c core.fsmonitor=$EVIL status; GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=core.fsmonitor GIT_CONFIG_VALUE_0=$EVIL git status",
    places: ["."],
  },
  { plant: "git init -q made; git -C made config core.fsmonitor $EVIL; git -C made status", places: ["made"] },
  { plant: "git init -q hooked; cp $EVIL hooked/.git/hooks/post-index-change; touch hooked/x", places: ["hooked"] },
  {
    plant:
      "git init -q included; printf '[core]\\nfsmonitor = %s\\n' $EVIL > extra; git -C included config includeIf.gitdir:/.path $PWD/extra",
    places: ["included"],
  },
  {
    plant:
      "git init -q --bare docs/bare; git -C docs/bare config core.fsmonitor $EVIL; git -C docs/bare config core.bare false; git -C docs/bare config core.worktree $PWD",
    places: ["docs/bare"],
  },
  {
    plant:
      "git init -q build/tree; git -C build/tree config core.fsmonitor $EVIL; mkdir pointed; echo gitdir: ../build/tree/.git > pointed/.git",
    places: ["pointed"],
  },
  {
    plant:
      "git init -q build/linked; git -C build/linked config core.fsmonitor $EVIL; mkdir link; ln -s ../build/linked/.git link/.git",
    places: ["link"],
  },
  {
    plant:
      "mkdir -p build/wt; cp .git/HEAD build/wt/; git init -q --bare build/main; git -C build/main config core.fsmonitor $EVIL; git -C build/main config core.bare false; echo ../main > build/wt/commondir; mkdir tree; echo gitdir: ../build/wt > tree/.git; echo $PWD/tree/.git > build/wt/gitdir",
    places: ["tree"],
  },
  // `git status` starts git in every submodule, also in one that is in a directory for build output.
  {
    plant:
      "git init -q build/sub; git -C build/sub -c user.name=x -c user.email=x@y commit -q --allow-empty -m x; git -C build/sub config core.fsmonitor $EVIL; git update-index --add --cacheinfo 160000,$(git -C build/sub rev-parse HEAD),build/sub",
    places: ["."],
  },
  // Ways to write settings that git reads differently than a reader of lines.
  {
    plant: `for n in header continued separator; do git init -q text-$n; done
printf '[x][core]fsmonitor=%s\\n' $EVIL >> text-header/.git/config
printf '[core]\\na = b\\\\\\n[x]\\nfsmonitor = %s\\n' $EVIL >> text-continued/.git/config
printf '[core]\\nfsmonitor = "%s \\342\\200\\250"\\n' $EVIL >> text-separator/.git/config`,
    places: ["text-header", "text-continued", "text-separator"],
  },
  // Git files that end with another line, or have bytes that are not valid UTF-8.
  {
    plant: `d="$(printf 'build/e\\nf')"; b="$(printf 'build/e\\377')"; git init -q build/e; for n in "$d" "$b"; do git init -q "$n"; git -C "$n" config core.fsmonitor $EVIL; done
mkdir two-lines bytes bytes-link; printf 'gitdir: ../%s/.git\\n' "$d" > two-lines/.git; printf 'gitdir: ../%s/.git\\n' "$b" > bytes/.git; ln -s "../$b/.git" bytes-link/.git`,
    places: ["two-lines", "bytes", "bytes-link"],
  },
  // Git ignores a directory `.git` that is none, and takes the directory around it for a repository.
  {
    plant:
      "git init -q --bare around; git -C around config core.fsmonitor $EVIL; git -C around config core.bare false; git -C around config core.worktree $PWD; mkdir around/.git",
    places: ["around"],
  },
  {
    plant:
      "git -C sub config core.fsmonitor $EVIL; printf '[core]\\nfsmonitor = %s\\n' $EVIL >> .git/modules/sub/config",
    places: [".", "sub"],
  },
  {
    plant:
      "printf '[core]\\nfsmonitor = %s\\n' $EVIL > .git/worktrees/side/config.worktree; git -C side config core.fsmonitor $EVIL; mkdir build/c; echo $PWD/build/tree/.git > .git/worktrees/side/commondir",
    places: ["side", "."],
  },
  {
    plant:
      "echo '* filter=evil diff=evil' > .gitattributes; mkdir -p .git/info; echo '* filter=evil' > .git/info/attributes; git config filter.evil.clean $EVIL",
    places: ["."],
  },
]

/** They replace the repository of the workspace, so each needs one of its own. */
const REPLACEMENTS = [
  "mv .git moved; git init -q .; git config core.fsmonitor $EVIL; cp $EVIL .git/hooks/post-index-change",
  "mv .git moved; git init -q build/e; git -C build/e config core.fsmonitor $EVIL; echo gitdir: build/e/.git > .git",
  "mv .git moved; git init -q build/e; cp $EVIL build/e/.git/hooks/post-index-change; ln -s build/e/.git .git",
]

/** Runs the commands in the sandbox, then git outside as the user does. Returns whether a planted program ran where it could do damage. */
async function plantAndUse(commands: readonly string[], places: readonly string[]) {
  await using app = await assembleApp([], { config: "terminal: {sandbox: required}\nmemory: {nudge_interval: 0}\n" })
  const { workdir, userHome } = app.home
  const source = createRepository(join(userHome, "source"), { "b.txt": "two\n" })
  const root = createRepository(workdir)
  git(root, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", source, "sub")
  git(root, "commit", "--quiet", "--message", "sub")
  git(root, "worktree", "add", "--quiet", "side")
  // The sandbox hides this directory: only what runs outside can write there.
  const trace = join(app.home.path, "escaped")
  writeFileSync(join(workdir, "evil.sh"), `#!/bin/sh\necho "$0 $* $PWD" >> ${trace}\nexit 1\n`, { mode: 0o755 })
  mkdirSync(join(workdir, "build"))
  const session = await app.open({ attended: false, permissionProfile: "full-auto" })
  const outputs: string[] = []
  for (const command of commands) {
    app.model.push(callsTool("terminal", { command: `EVIL=$PWD/evil.sh; ${command}` }), says("Done."))
    await runToEnd(session, "go on")
    outputs.push(app.model.toolResults(app.model.requests.length - 1)[0]?.text ?? "")
  }
  await session.close("test_end")
  const found: string[] = []
  for (const words of [["status"], ["rebase", "--continue"], ["add", "--intent-to-add", "."], ["diff"]])
    for (const place of new Set([".", ...places])) {
      const cwd = join(workdir, place)
      if (!existsSync(cwd)) continue
      spawnSync("git", words, { cwd, env: { PATH: process.env["PATH"], HOME: userHome } })
      if (existsSync(trace)) found.push(`git ${words.join(" ")} in ${place}: ${readFileSync(trace, "utf8")}`)
      rmSync(trace, { force: true })
    }
  return { found, outputs }
}

walled(
  titleWithReason(
    "what commands leave in repositories is not executed by the user's git, whatever they plant",
    missing,
  ),
  { timeout: 120_000 },
  async () => {
    const { found } = await plantAndUse(
      PLANTS.map(({ plant }) => plant),
      PLANTS.flatMap(({ places }) => places),
    )
    expect(found).toEqual([])
  },
)

walled.each(REPLACEMENTS)(
  titleWithReason("a repository that takes the place of the user's is not obeyed: %s", missing),
  async (command) => {
    expect((await plantAndUse([command], ["."])).found).toEqual([])
  },
)
