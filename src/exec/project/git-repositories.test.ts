import { mkdir, writeFile } from "node:fs/promises"
import { dirname, join } from "node:path"

import { expect, test } from "vitest"

import { temporaryHome } from "../../../test/support/temporary-home.ts"
import { executedByGit, executingKeys, findRepositories, gitConfigsOf, UNREADABLE_SETTING } from "./git-repositories.ts"

test.each([
  ["[core]\n\tfsmonitor = evil", ["core.fsmonitor"]],
  ["[CORE] HooksPath = x", ["core.hookspath"]],
  ['[filter "x"]\n\tclean = a\n\tsmudge = b\n\trequired', ["filter.clean", "filter.smudge"]],
  ['[includeIf "gitdir:/"]\n path = x', ["includeif.path"]],
  ["[alias]\nst = !evil", ["alias.st"]],
  ['[remote "o"]\nurl = ext::sh -c evil\n[remote "p"]\nurl = https://example.org/::', ["remote.url", "remote.url"]],
  ['[remote "o"]\nurl = git@example.org:a/b.git\nfetch = +refs/*:refs/*', []],
  ['[submodule "s"]\nupdate = !evil', ["submodule.update"]],
  ['[submodule "s"]\nupdate = checkout\nactive = true', []],
  ["[core]\nbare = false\nfilemode = true\n[merge]\nff = only\n[diff]\nalgorithm = histogram", []],
  ['[branch "main"]\nremote = origin\nmerge = refs/heads/main\n[user]\nname = Ada', []],
  [
    '[url "https://evil.example/"]\ninsteadOf = https://github.com/\n[core]\nworktree = /home/a',
    ["url.insteadof", "core.worktree"],
  ],
  ["[http]\nsslVerify = false\npostBuffer = 1\n[lfs]\nrepositoryformatversion = 0", ["http.sslverify"]],
  ["[credential]\nhelper = !evil\r\n[gpg]\r\nprogram = evil", ["credential.helper", "gpg.program"]],
])("the keys of %j that start programs", (config, keys) => {
  expect(executingKeys(config)).toEqual(keys)
})

test("repositories are found, also bare ones, and the git directories inside them", async () => {
  await using home = await temporaryHome()
  const root = home.workdir
  const files = [
    ".git/HEAD",
    ".git/modules/group/sub/HEAD",
    ".git/worktrees/tree/gitdir",
    "packages/nested/.git/HEAD",
    "bare.git/HEAD",
    "bare.git/config",
    "bare.git/objects/x",
    "node_modules/skipped/.git/HEAD",
    "packages/web/.envrc",
    "packages/web/deep/.vscode/tasks.json",
  ]
  for (const name of files) {
    await mkdir(dirname(join(root, name)), { recursive: true })
    await writeFile(join(root, name), "")
  }
  await mkdir(join(root, "sub"))
  await writeFile(join(root, "sub/.git"), "gitdir: ../.git/modules/group/sub\n")
  const relative = (paths: readonly string[]): readonly string[] => paths.map((path) => path.slice(root.length + 1))
  expect(relative(await findRepositories(root)).toSorted()).toEqual([
    "",
    "bare.git",
    "packages/nested",
    "packages/web",
    "packages/web/deep",
    "sub",
  ])
  expect(relative(executedByGit(root))).toEqual(
    expect.arrayContaining([
      ".git/config",
      ".git/hooks",
      ".git/commondir",
      ".git/modules/group/sub/config",
      ".git/worktrees/tree/commondir",
    ]),
  )
  expect(relative(executedByGit(join(root, "sub")))).toEqual(
    expect.arrayContaining(["sub/.git", ".git/modules/group/sub/config", ".git/modules/group/sub/hooks"]),
  )
  expect(
    relative(["sub", "bare.git", "packages/nested"].flatMap((name) => gitConfigsOf(join(root, name)).slice(0, 1))),
  ).toEqual([".git/modules/group/sub/config", "bare.git/config", "packages/nested/.git/config"])
})

test("a git directory whose other files are elsewhere is found with the settings that git reads there", async () => {
  await using home = await temporaryHome()
  const root = home.workdir
  const files = {
    "common/HEAD": "ref: refs/heads/main\n",
    "common/commondir": "../build/rest\n",
    "tree/.git": "gitdir: ../build/worktree\n",
    "build/worktree/commondir": "../rest\n",
  }
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(join(root, name)), { recursive: true })
    await writeFile(join(root, name), text)
  }
  const relative = (paths: readonly string[]): readonly string[] => paths.map((path) => path.slice(root.length + 1))
  expect(relative(await findRepositories(root)).toSorted()).toEqual(["common", "tree"])
  expect(relative(gitConfigsOf(join(root, "common")))[0]).toBe("build/rest/config")
  expect(relative(gitConfigsOf(join(root, "tree")))).toEqual([
    "build/rest/config",
    "build/worktree/config",
    "build/worktree/config.worktree",
  ])
})

test.each([
  "[x][core]fsmonitor=e",
  "[core]\na = b\\\n[x]\nfsmonitor = e\n",
  "[core]\nfsmonitor = e\u2028\n",
  "[core]\nfsmonitor = e\rf\n",
  '[a\r"x"] [core] fsmonitor = e\n',
  `${"# comment\n".repeat(200_000)}[core]\nfsmonitor = e\n`,
])("programs are found however the settings are written, case %#", (text) => {
  expect(executingKeys(text)).toContain("core.fsmonitor")
})

test("settings that cannot be read may start programs", () => {
  expect(executingKeys("[a]\nb c\n[core] [x] y\n")).toEqual([UNREADABLE_SETTING])
})

test("paths in git files are read as git reads them", async () => {
  await using home = await temporaryHome()
  const at = (name: string): string => join(home.workdir, name)
  for (const name of ["two/.git", "both/HEAD", "both/objects/x", "both/.git/x", "common/.git/commondir"])
    await mkdir(dirname(at(name)), { recursive: true })
  await writeFile(at("two/.git"), "gitdir: ../a\nb\r\n\n")
  await mkdir(at("nul"))
  await writeFile(at("nul/.git"), "gitdir: ../a\0junk\n")
  expect(gitConfigsOf(at("nul"))[0]).toBe(at("a/config"))
  await writeFile(at("both/HEAD"), "")
  await writeFile(at("common/.git/commondir"), " c \n")
  expect(gitConfigsOf(at("two"))[0]).toBe(at("a\nb/config"))
  expect(gitConfigsOf(at("both"))).toEqual(expect.arrayContaining([at("both/config"), at("both/.git/config")]))
  expect(gitConfigsOf(at("common"))[0]).toBe(at("common/.git/ c /config"))
})
