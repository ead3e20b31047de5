import { lstatSync, mkdirSync, readdirSync, readFileSync, statSync } from "node:fs"
import { dirname, join, resolve } from "node:path"

import { createProjectIndex } from "./project-index.ts"

/** In a git directory: what git executes, or what names it. `commondir` moves all of them to another directory. */
const EXECUTED = ["config", "config.worktree", "hooks", "info/attributes", "commondir", "remotes", "branches"]

/** The steps of a rebase that was begun in the repository of a directory. Git itself writes them, so they are not protected. */
export function rebaseSteps(directory: string): string {
  return join(gitDirectoryOf(directory), "rebase-merge", "git-rebase-todo")
}

/** Those of the steps that run commands when the user continues the rebase. */
export function executingSteps(text: string): readonly string[] {
  return text.split(/\r?\n/u).filter((line) => /^\s*(?:exec|x)\s/u.test(line))
}

/** How deep submodules may be nested inside `.git/modules`; a name may contain slashes. */
const MODULE_DEPTH = 4

/** Returns what git executes or obeys in the repository of a directory, whether it exists or not; nothing if there is no repository. */
export function executedByGit(directory: string): readonly string[] {
  const path = join(directory, ".git")
  const facts = lstatSync(path, { throwIfNoEntry: false })
  // The file of a worktree or submodule names the git directory.
  if (facts === undefined || !facts.isDirectory()) return facts === undefined ? [] : [path]
  createHooks(path)
  const inModules = moduleDirectories(join(path, "modules"), MODULE_DEPTH)
  const inWorktrees = subdirectories(join(path, "worktrees"))
  return [
    ...[path, ...inModules].flatMap((gitDirectory) => EXECUTED.map((name) => join(gitDirectory, name))),
    ...inWorktrees.flatMap((worktree) =>
      ["config.worktree", "commondir", "gitdir"].map((name) => join(worktree, name)),
    ),
  ]
}

/** A directory of hooks that does not exist cannot be protected. An empty one has no effect. */
function createHooks(gitDirectory: string): void {
  try {
    mkdirSync(join(gitDirectory, "hooks"))
  } catch {
    // It exists, as in most repositories.
  }
}

function moduleDirectories(directory: string, depth: number): readonly string[] {
  if (depth === 0) return []
  return subdirectories(directory).flatMap((path) =>
    lstatSync(join(path, "HEAD"), { throwIfNoEntry: false }) === undefined
      ? moduleDirectories(path, depth - 1)
      : [path, ...moduleDirectories(join(path, "modules"), depth - 1)],
  )
}

function subdirectories(directory: string): readonly string[] {
  // Most repositories have neither submodules nor worktrees, and an exception takes longer than this check.
  if (lstatSync(directory, { throwIfNoEntry: false }) === undefined) return []
  return readdirSync(directory, { withFileTypes: true }).flatMap((entry) =>
    entry.isDirectory() ? [join(directory, entry.name)] : [],
  )
}

/** Each of them takes mounts, and the first command waits for the search. */
const LIMITS = { directories: 400, depth: 4 }

/** The directories near the root whose files are protected while commands run. */
export async function findRepositories(root: string): Promise<readonly string[]> {
  const { found } = await createProjectIndex(root, LIMITS).update()
  return [...found.keys()]
}

/** Whether `findRepositories` looks so deep. */
export function isNearRoot(directory: string, root: string): boolean {
  return directory.slice(root.length).split("/").length - 1 <= LIMITS.depth
}

/** Whether git takes the directory for a repository, or for the git directory of one. */
export function isRepositoryDirectory(directory: string): boolean {
  return ["HEAD", ".git"].some((name) => lstatSync(join(directory, name), { throwIfNoEntry: false }) !== undefined)
}

/**
 * Whether everything in the git directory of a directory is newer: it was created or copied since then. Programs cannot set the time that
 * this compares, and git does not touch all files of a repository.
 */
export function isRepositoryNewerThan(directory: string, sinceMs: number): boolean {
  const [config = ""] = gitConfigsOf(directory)
  const gitDirectory = dirname(config)
  if (gitDirectory === directory && !isRepositoryDirectory(directory)) return false
  return namesIn(gitDirectory).every((name) => {
    const facts = lstatSync(join(gitDirectory, name), { throwIfNoEntry: false })
    return facts === undefined || facts.ctimeMs > sinceMs
  })
}

function namesIn(directory: string): readonly string[] {
  try {
    return readdirSync(directory)
  } catch {
    // There is none, or it cannot be read.
    return []
  }
}

/**
 * The configuration files that git reads in a directory: those of its git directory, which a `.git` file may name, and of the one that
 * `commondir` in it names. The first one is that of the repository.
 */
export function gitConfigsOf(directory: string): readonly string[] {
  const own = gitDirectoryOf(directory)
  const named = textIn(join(own, "commondir")).trim()
  const common = named === "" ? own : resolve(own, named)
  return [...new Set([join(common, "config"), join(own, "config"), join(own, "config.worktree")])]
}

/** The git directory of the repository in a directory; the directory itself where it has none. */
export function gitDirectoryOf(directory: string): string {
  const inside = join(directory, ".git")
  const facts = statSync(inside, { throwIfNoEntry: false })
  if (facts?.isFile() !== true) return facts === undefined ? directory : inside
  const [, named = ""] = /^gitdir: (.+)$/mu.exec(textIn(inside)) ?? []
  return resolve(directory, named)
}

function textIn(path: string): string {
  try {
    return readFileSync(path, "utf8")
  } catch {
    // There is none, or it cannot be read.
    return ""
  }
}

/**
 * Returns the keys of a git configuration that name a program, a file with more configuration, or a transport that starts a program. It errs
 * on the side of too many: the text is read line by line, also where git would see the continuation of a value.
 */
export function executingKeys(config: string): readonly string[] {
  return executingSettings(config).map(({ key }) => key)
}

/** The same with their values. */
export function executingSettings(config: string): readonly { readonly key: string; readonly value: string }[] {
  let section = ""
  return config.split(/\r?\n/u).flatMap((line) => {
    const [, header, rest] = /^\s*\[([^\]]*)\](.*)$/u.exec(line) ?? []
    if (header !== undefined) section = header.trim().split(/[\s.]/u, 1)[0]?.toLowerCase() ?? ""
    const [, name = "", value = ""] = /^\s*([a-z][a-z0-9-]*)\s*(?:=\s*(.*))?$/iu.exec(rest ?? line) ?? []
    if (name === "") return []
    const key = `${section}.${name.toLowerCase()}`
    const startsProgram =
      (key.endsWith(".url") && value.includes("::")) || (key === "submodule.update" && /^"?!/u.test(value))
    return EXECUTING_KEY.test(key) || startsProgram ? [{ key, value: value.replaceAll(/^"|"\s*$/gu, "").trim() }] : []
  })
}

/** Returns the lines of a git configuration that say where the files and the remote of a repository are, and nothing else. */
export function plainSettings(config: string): string {
  let section = ""
  const lines = config.split(/\r?\n/u).filter((line) => {
    const [, header] = /^\s*\[([^\]]*)\]\s*$/u.exec(line) ?? []
    if (header !== undefined) section = header.trim().split(/[\s.]/u, 1)[0]?.toLowerCase() ?? ""
    if (header !== undefined) return true
    const [, name = "", value = ""] = /^\s*([a-z]+)\s*=\s*(.*[^\\])$/iu.exec(line) ?? []
    return PLAIN_KEY.test(`${section}.${name.toLowerCase()}`) && !value.includes("::")
  })
  return `${lines.join("\n")}\n`
}

const PLAIN_KEY =
  /^(?:core\.(?:repositoryformatversion|filemode|bare|logallrefupdates|worktree|ignorecase|symlinks)|remote\.(?:url|fetch)|branch\.(?:remote|merge)|submodule\.(?:url|active)|extensions\.(?:objectformat|refstorage))$/u

const EXECUTING_KEY = new RegExp(
  `^(?:${[
    String.raw`(?:alias|pager|include|includeif|protocol)\..*`,
    String.raw`core\.(?:fsmonitor|hookspath|sshcommand|gitproxy|pager|editor|askpass|alternaterefscommand|attributesfile|worktree)`,
    // These lead git to another server, or keep it from checking who answers.
    String.raw`(?:url\.(?:push)?insteadof|https?\.(?:proxy|sslverify|sslcainfo|sslcapath|cookiefile)|remote\.proxy)`,
    String.raw`(?:hook\..*|gc\.recentobjectshook|imap\.tunnel|lfs\.(?:path|args|standalonetransferagent))`,
    String.raw`credential\.helper`,
    String.raw`diff\.(?:external|command|textconv)`,
    String.raw`filter\.(?:clean|smudge|process)`,
    String.raw`merge\.driver`,
    String.raw`(?:difftool|mergetool|guitool|browser|man)\.(?:cmd|path)`,
    String.raw`(?:tar|trailer)\.(?:command|cmd)`,
    String.raw`interactive\.difffilter`,
    String.raw`sequence\.editor`,
    String.raw`gpg\.(?:program|defaultkeycommand)`,
    String.raw`remote\.(?:uploadpack|receivepack|vcs)`,
    String.raw`uploadpack\.packobjectshook`,
    String.raw`sendemail\..*cmd`,
    String.raw`web\.browser`,
    String.raw`instaweb\..*`,
    String.raw`init\.templatedir`,
    String.raw`extensions\.worktreeconfig`,
  ].join("|")})$`,
  "u",
)

/** The directory of hooks next to a configuration file has one that git would run. */
export function hasHooks(gitConfig: string): boolean {
  return hooksIn(join(dirname(gitConfig), "hooks")).length > 0
}

/** The names in a directory of hooks, without the examples of git and what Hermes renamed. */
export function hooksIn(directory: string): readonly string[] {
  return namesIn(directory).filter((name) => !/\.sample$|\.from-sandbox(?:-\d+)?$/u.test(name))
}
