import { lstatSync, mkdirSync, readdirSync, readFileSync, statSync } from "node:fs"
import type { Dirent } from "node:fs"
import { readdir } from "node:fs/promises"
import { dirname, join, resolve } from "node:path"

import { AGENT_INSTRUCTIONS, EXECUTED_IN_WORKSPACE } from "../../config/protected-paths.ts"
import { isExcluded } from "../checkpoints/excluded-names.ts"

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

const MAX_DIRECTORIES = 400
const MAX_DEPTH = 4
const EXECUTED_NAMES: ReadonlySet<string> = new Set(
  [...EXECUTED_IN_WORKSPACE, ...AGENT_INSTRUCTIONS].map((name) => name.split("/", 1)[0] ?? name),
)

const EXECUTED_ENDINGS: readonly string[] = EXECUTED_IN_WORKSPACE.flatMap((name) =>
  name.startsWith("*") ? [name.slice(1)] : [],
)

function isExecutedName(name: string): boolean {
  return EXECUTED_NAMES.has(name) || EXECUTED_ENDINGS.some((ending) => name.endsWith(ending))
}

export interface ProjectSearch {
  /** The directories that are repositories, also bare ones, or have other files that programs execute or obey. */
  readonly found: readonly string[]
  /** All directories that were looked into. */
  readonly visited: ReadonlySet<string>
}

/** Searches a directory. The search is limited, breadth first, and skips what is built or downloaded. */
export async function searchProject(root: string): Promise<ProjectSearch> {
  const found: string[] = []
  const all = new Set<string>()
  let level = [root]
  let left = MAX_DIRECTORIES
  for (let depth = 0; depth <= MAX_DEPTH && level.length > 0 && left > 0; depth++) {
    const visited = level.slice(0, left)
    left -= visited.length
    for (const directory of visited) all.add(directory)
    const listings = await Promise.all(visited.map(listing))
    level = listings.flatMap(({ directory, entries }) => {
      if (isRepository(entries) || entries.some(({ name }) => isExecutedName(name))) found.push(directory)
      return entries
        .filter((entry) => entry.isDirectory() && entry.name !== ".git" && !isExcluded(entry.name, "directory"))
        .map(({ name }) => join(directory, name))
    })
  }
  return { found, visited: all }
}

/** Whether the search reached all directories up to its depth. */
export function isComplete({ visited }: ProjectSearch): boolean {
  return visited.size < MAX_DIRECTORIES
}

export async function findRepositories(root: string): Promise<readonly string[]> {
  return (await searchProject(root)).found
}

async function listing(
  directory: string,
): Promise<{ readonly directory: string; readonly entries: readonly Dirent[] }> {
  try {
    return { directory, entries: await readdir(directory, { withFileTypes: true }) }
  } catch {
    // It disappeared, or cannot be read.
    return { directory, entries: [] }
  }
}

function isRepository(entries: readonly Dirent[]): boolean {
  const names = new Set(entries.map(({ name }) => name))
  // With `commondir`, the rest of a git directory is elsewhere.
  const isBare = names.has("HEAD") && ((names.has("config") && names.has("objects")) || names.has("commondir"))
  return names.has(".git") || isBare
}

/** Whether git takes the directory for a repository, or for the git directory of one. */
export function isRepositoryDirectory(directory: string): boolean {
  return ["HEAD", ".git"].some((name) => lstatSync(join(directory, name), { throwIfNoEntry: false }) !== undefined)
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
  let section = ""
  return config.split(/\r?\n/u).flatMap((line) => {
    const [, header, rest] = /^\s*\[([^\]]*)\](.*)$/u.exec(line) ?? []
    if (header !== undefined) section = header.trim().split(/[\s.]/u, 1)[0]?.toLowerCase() ?? ""
    const [, name = "", value = ""] = /^\s*([a-z][a-z0-9-]*)\s*(?:=\s*(.*))?$/iu.exec(rest ?? line) ?? []
    if (name === "") return []
    const key = `${section}.${name.toLowerCase()}`
    const startsProgram =
      (key.endsWith(".url") && value.includes("::")) || (key === "submodule.update" && /^"?!/u.test(value))
    return EXECUTING_KEY.test(key) || startsProgram ? [key] : []
  })
}

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
  try {
    return readdirSync(join(dirname(gitConfig), "hooks")).some((name) => !name.endsWith(".sample"))
  } catch {
    // There is none.
    return false
  }
}
