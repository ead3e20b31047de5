import { mkdirSync, readdirSync } from "node:fs"
import { basename, dirname, join, resolve } from "node:path"

import { realPath } from "../../base/real-path.ts"
import { readRegularText } from "../../base/regular-file.ts"
import { isRenamedAside } from "./contained-changes.ts"
import { factsOf, targetFactsOf } from "./file-facts.ts"
import { parseGitConfig } from "./git-config-text.ts"
import { createProjectIndex } from "./project-index.ts"

/** In a git directory: what git executes, or what names it. `commondir` moves all of them to another directory. */
const EXECUTED = ["config", "config.worktree", "hooks", "info/attributes", "commondir", "remotes", "branches"]

/**
 * The steps of a rebase that was begun in the repository of a directory, or in another of its working trees. Git itself writes them, so they
 * are not protected.
 */
export function rebaseSteps(directory: string): readonly string[] {
  const own = gitDirectoryOf(directory)
  return [own, ...subdirectories(join(own, "worktrees"))].map((path) => join(path, "rebase-merge", "git-rebase-todo"))
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
  const facts = factsOf(path)
  const bare = isGitDirectory(directory) ? executedIn(directory) : []
  if (facts === undefined) return bare
  const elsewhere = otherGitDirectories(directory).flatMap((one) => EXECUTED.map((name) => join(one, name)))
  // The file of a worktree or submodule names the git directory.
  if (!facts.isDirectory()) return [path, ...elsewhere, ...bare]
  const inWorktrees = subdirectories(join(path, "worktrees"))
  return [
    ...executedIn(path),
    ...inWorktrees.flatMap((worktree) =>
      ["config.worktree", "commondir", "gitdir"].map((name) => join(worktree, name)),
    ),
    ...elsewhere,
    ...bare,
  ]
}

/** The directories that git uses besides `.git`: the one that a `.git` file names, and the one that `commondir` names. */
function otherGitDirectories(directory: string): readonly string[] {
  const own = gitDirectoryOf(directory)
  const others = [own, commonDirectoryOf(own)].filter((path) => path !== join(directory, ".git") && path !== directory)
  return [...new Set(others)]
}

/** In a git directory and in those of the submodules. */
function executedIn(gitDirectory: string): readonly string[] {
  createHooks(gitDirectory)
  const inModules = moduleDirectories(join(gitDirectory, "modules"), MODULE_DEPTH)
  return [gitDirectory, ...inModules].flatMap((one) => EXECUTED.map((name) => join(one, name)))
}

/** Whether git takes the directory itself for a git directory, such as that of a bare repository. */
export function isGitDirectory(directory: string): boolean {
  const has = (name: string): boolean => factsOf(join(directory, name)) !== undefined
  return has("HEAD") && (has("objects") || has("commondir"))
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
    factsOf(join(path, "HEAD")) === undefined
      ? moduleDirectories(path, depth - 1)
      : [path, ...moduleDirectories(join(path, "modules"), depth - 1)],
  )
}

/** Whether a path that `executedByGit` returned is in a git directory that has another name than `.git`. */
export function isInBareRepository(path: string): boolean {
  const name = EXECUTED.find((one) => path.endsWith(`/${one}`))
  return name !== undefined && isGitDirectory(path.slice(0, -name.length - 1))
}

/** The other working trees of the repository in a directory, wherever they are. */
export function worktreesOf(directory: string): readonly string[] {
  return subdirectories(join(gitDirectoryOf(directory), "worktrees")).flatMap((path) => {
    const gitFile = withoutLineEnd(readRegularText(join(path, "gitdir")) ?? "")
    return gitFile === "" ? [] : [dirname(resolve(path, gitFile))]
  })
}

function subdirectories(directory: string): readonly string[] {
  // Most repositories have neither submodules nor worktrees, and an exception takes longer than this check.
  if (factsOf(directory)?.isDirectory() !== true) return []
  try {
    return readdirSync(directory, { withFileTypes: true }).flatMap((entry) =>
      entry.isDirectory() ? [join(directory, entry.name)] : [],
    )
  } catch {
    // It cannot be read.
    return []
  }
}

/** Each of them takes mounts, and the first command waits for the search. */
const LIMITS = { directories: 400, depth: 4, links: 0 }

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
  return ["HEAD", ".git"].some((name) => factsOf(join(directory, name)) !== undefined)
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
    const facts = factsOf(join(gitDirectory, name))
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
  // Git takes the directory itself for a repository where `.git` is none.
  const own = [gitDirectoryOf(directory), ...(isGitDirectory(directory) ? [directory] : [])]
  return [...new Set(own.flatMap(configsIn))]
}

/** The directory with the settings and hooks of a git directory. */
function commonDirectoryOf(gitDirectory: string): string {
  const named = withoutLineEnd(readRegularText(join(gitDirectory, "commondir")) ?? "")
  return named === "" ? gitDirectory : resolve(gitDirectory, named)
}

/**
 * Whether a file is one that `git worktree add` writes: a `commondir` that names the git directory around it, or a `gitdir` that names a
 * working tree whose `.git` file leads back.
 */
export function isOfNewWorktree(path: string): boolean {
  const parent = dirname(path)
  if (basename(dirname(parent)) !== "worktrees") return false
  if (basename(path) === "commondir") return commonDirectoryOf(parent) === dirname(dirname(parent))
  if (basename(path) !== "gitdir") return false
  const tree = dirname(resolve(parent, withoutLineEnd(readRegularText(path) ?? "")))
  return realPath(gitDirectoryOf(tree)) === realPath(parent)
}

function configsIn(gitDirectory: string): readonly string[] {
  return [
    join(commonDirectoryOf(gitDirectory), "config"),
    join(gitDirectory, "config"),
    join(gitDirectory, "config.worktree"),
  ]
}

/** As git reads a path in a file: it may contain line breaks and end with spaces, and ends at a NUL. */
function withoutLineEnd(text: string): string {
  return text.replace(/[\r\n]+$/u, "").split("\0", 1)[0] ?? ""
}

/**
 * Returns the file or link that leads git to a directory whose path is not valid UTF-8, so that Hermes cannot read what is there; undefined
 * where none does.
 */
export function leadingToUndecodable(directory: string): string | undefined {
  const isUndecodable = (path: string): boolean => path.includes("\uFFFD")
  const inside = join(directory, ".git")
  const own = gitDirectoryOf(directory)
  if (isUndecodable(own.slice(directory.length)) || isUndecodable(realPath(own))) return inside
  const common = join(own, "commondir")
  return isUndecodable(readRegularText(common) ?? "") ? common : undefined
}

/** The git directory of the repository in a directory; the directory itself where it has none. */
export function gitDirectoryOf(directory: string): string {
  const inside = join(directory, ".git")
  const facts = targetFactsOf(inside)
  if (facts?.isFile() !== true) return facts === undefined ? directory : inside
  const [, named = ""] = /^gitdir: (.+)$/su.exec(readRegularText(inside) ?? "") ?? []
  return resolve(directory, withoutLineEnd(named))
}

/**
 * Returns the keys of a git configuration that name a program, a file with more configuration, or a transport that starts a program. What
 * cannot be read may be any of them.
 */
export function executingKeys(config: string): readonly string[] {
  const keys = executingSettings(config).map(({ key }) => key)
  return parseGitConfig(config) === undefined ? [...keys, UNREADABLE_SETTING] : keys
}

/** Stands for a line that git refuses, or reads in another way than Hermes. */
export const UNREADABLE_SETTING = "a line that Hermes cannot read"

interface ExecutingSetting {
  readonly key: string
  readonly value: string
}

/**
 * The same with their values. It errs on the side of too many: the text is read as git does, and also line by line, for versions of git that
 * read it differently.
 */
export function executingSettings(config: string): readonly ExecutingSetting[] {
  const parsed = (parseGitConfig(config) ?? []).map(({ section, name, value }) => ({
    key: `${section}.${name}`,
    value,
  }))
  const settings = [...settingsInLines(config), ...parsed].filter(isExecuting)
  return [...new Map(settings.map((setting) => [`${setting.key}\0${setting.value}`, setting])).values()]
}

function isExecuting({ key, value }: ExecutingSetting): boolean {
  return (
    isExecutingKey(key) ||
    (key.endsWith(".url") && value.includes("::")) ||
    (key === "submodule.update" && value.startsWith("!"))
  )
}

function settingsInLines(config: string): readonly ExecutingSetting[] {
  let section = ""
  return config.split(/\r?\n/u).flatMap((line) => {
    const [, header, rest] = /^\s*\[([^\]]*)\](.*)$/su.exec(line) ?? []
    if (header !== undefined) section = header.trim().split(/[\s.]/u, 1)[0]?.toLowerCase() ?? ""
    const [, name = "", value = ""] = /^\s*([a-z][a-z0-9-]*)\s*(?:=\s*(.*))?$/isu.exec(rest ?? line) ?? []
    if (name === "") return []
    return [{ key: `${section}.${name.toLowerCase()}`, value: value.replaceAll(/^"|"\s*$/gu, "").trim() }]
  })
}

/** Whether a key such as `core.editor`, without a subsection, names a program or leads git elsewhere whatever its value is. */
export function isExecutingKey(key: string): boolean {
  return EXECUTING_KEY.test(key)
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
  return namesIn(directory).filter((name) => !name.endsWith(".sample") && !isRenamedAside(name))
}
