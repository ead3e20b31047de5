import { cpSync, existsSync, statSync, writeFileSync } from "node:fs"
import { basename, join, resolve } from "node:path"

import { isInside } from "../../base/is-inside.ts"
import { makeDirectories } from "../../base/make-directories.ts"
import { fail, ok, type Result } from "../../base/result.ts"
import { errorMessage, explainSystemError } from "../../base/system-error.ts"
import { findSafeGit, NO_PROGRAMS } from "../../exec/safe-git.ts"
import { lastLine, runProgram } from "../../exec/run-program.ts"
import { trustOfRepository, type SkillTrust } from "../../knowledge/skills/guard/guard-policy.ts"
import { scanSkillRoot } from "../../knowledge/skills/scan-skills.ts"
import { SKILL_FILE } from "../../knowledge/skills/skill.ts"
import type { HomeContext } from "../home-context.ts"
import { ArchiveError, unpackArchive } from "./unpack-archive.ts"

/** A skill that was fetched into the quarantine and not looked at yet. */
export interface FetchedSkill {
  /** A directory in the quarantine. */
  readonly directory: string
  /** The name of its directory at the source, for a skill that declares none. */
  readonly directoryName: string
  readonly source: "directory" | "archive" | "git"
  /** What to fetch it from again. */
  readonly identifier: string
  readonly trust: SkillTrust
}

const ARCHIVE = /\.(?:zip|tar\.gz|tgz|tar)$/iu
const MAX_ARCHIVE_BYTES = 20_000_000
const GIT_TIMEOUT_MS = 120_000

type FetchContext = Pick<HomeContext, "environment"> & { readonly signal: AbortSignal }

/** Fetches a skill from a directory, an archive (file or https address) or a git repository. `quarantine` is an empty directory. */
export async function fetchSkill(
  typed: string,
  quarantine: string,
  context: FetchContext,
): Promise<Result<FetchedSkill>> {
  const fetched = await fetchSource(typed, quarantine, context)
  return fetched.ok ? chosen(fetched.value) : fetched
}

/** Fetches a source as `fetchSkill` does and returns all skills in it, at least one. */
export async function fetchSkills(
  typed: string,
  quarantine: string,
  context: FetchContext,
): Promise<Result<readonly FetchedSkill[]>> {
  const fetched = await fetchSource(typed, quarantine, context)
  return fetched.ok ? everyIn(fetched.value) : fetched
}

async function fetchSource(typed: string, quarantine: string, context: FetchContext): Promise<Result<FetchedSource>> {
  const [address = "", below = ""] = splitFragment(typed)
  const target = join(quarantine, "fetched")
  try {
    if (existsSync(address)) return fetchLocal(resolve(address), below, target)
    if (/^https?:\/\//iu.test(address) && ARCHIVE.test(new URL(address).pathname))
      return await fetchRemoteArchive({ address, below, target, quarantine }, context)
    const repository = repositoryOf(address)
    if (repository === undefined)
      return fail(
        `"${typed}" is neither an existing directory or archive nor the address of one: pass a path, an https address, or OWNER/REPOSITORY[/PATH]`,
      )
    const cloned = await clone(repository.url, target, context)
    if (!cloned.ok) return cloned
    const path = below === "" ? repository.path : below
    const trust = trustOfRepository(repository.github)
    return ok({ target, path, source: "git", address: repository.url, trust })
  } catch (error) {
    return fail(`cannot fetch ${typed}: ${error instanceof ArchiveError ? error.message : explainSystemError(error)}`)
  }
}

async function fetchLocal(path: string, below: string, target: string): Promise<Result<FetchedSource>> {
  if (statSync(path).isDirectory()) {
    cpSync(path, target, { recursive: true, verbatimSymlinks: true, filter: (from) => basename(from) !== ".git" })
    return ok({ target, path: below, source: "directory", address: path, trust: "community" })
  }
  if (!ARCHIVE.test(path)) return fail(`the file ${path} is not an archive (.zip, .tar.gz)`)
  makeDirectories(target)
  await unpackArchive(path, target)
  return ok({ target, path: below, source: "archive", address: path, trust: "community" })
}

async function fetchRemoteArchive(
  request: { readonly address: string; readonly below: string; readonly target: string; readonly quarantine: string },
  { environment, signal }: FetchContext,
): Promise<Result<FetchedSource>> {
  const { address, below, target, quarantine } = request
  const url = new URL(address)
  const { createGuardedFetch } = await import("../../llm/http/guarded-fetch.ts")
  const guarded = createGuardedFetch({
    environment,
    // The user named this host; a redirect to another private one is refused.
    allowsPrivate: (host) => host === url.hostname,
    timeouts: { connectMs: 15_000, idleMs: 30_000, totalMs: GIT_TIMEOUT_MS },
    maxBytes: MAX_ARCHIVE_BYTES,
  })
  try {
    const response = await guarded.fetch(url, { signal })
    if (!response.ok) return fail(`the server of ${address} answered with ${response.status}`)
    const file = join(quarantine, basename(url.pathname))
    writeFileSync(file, new Uint8Array(await response.arrayBuffer()), { flag: "wx", mode: 0o600 })
    makeDirectories(target)
    await unpackArchive(file, target)
  } catch (error) {
    return fail(`cannot fetch ${address}: ${errorMessage(error)}`)
  } finally {
    guarded.close()
  }
  return ok({ target, path: below, source: "archive", address, trust: "community" })
}

/** Only https and local files: other transports would start programs. No hooks, no submodules, no settings of the user. */
async function clone(url: string, target: string, { environment, signal }: FetchContext): Promise<Result<undefined>> {
  const git = findSafeGit(environment.get("PATH") ?? "")
  if (git === undefined) return fail("git is not installed; install it, or install the skill from a directory")
  const proxies = ["https_proxy", "HTTPS_PROXY", "no_proxy", "NO_PROXY", "SSL_CERT_FILE", "GIT_SSL_CAINFO"].flatMap(
    (name): [string, string][] => {
      const value = environment.get(name)
      return value === undefined ? [] : [[name, value]]
    },
  )
  const command = [git.program, ...NO_PROGRAMS, "-c", "core.symlinks=true", "clone", "--quiet", "--depth", "1"]
  const options = ["--no-tags", "--single-branch", "--no-recurse-submodules", "--template=", "--", url, target]
  const { code, stderr, ended } = await runProgram([...command, ...options], {
    environment: {
      ...git.environment,
      ...Object.fromEntries(proxies),
      GIT_ALLOW_PROTOCOL: "https:file",
      GIT_CONFIG_NOSYSTEM: "1",
      GIT_CONFIG_GLOBAL: "/dev/null",
    },
    signal,
    timeoutMs: GIT_TIMEOUT_MS,
  })
  if (code === 0) return ok(undefined)
  const reason = ended === "timed-out" ? "it took too long" : lastLine(stderr)
  return fail(`cannot clone ${url}: ${reason}`)
}

/** What was fetched, and the path in it that the user named ("" for none). */
interface FetchedSource {
  readonly target: string
  readonly path: string
  readonly source: FetchedSkill["source"]
  readonly address: string
  readonly trust: SkillTrust
}

/** The skill at the named path of what was fetched, or the only one in it. */
function chosen(fetched: FetchedSource): Result<FetchedSkill> {
  const found = everyIn(fetched)
  if (!found.ok) return found
  const [only, ...others] = found.value
  if (only !== undefined && others.length === 0)
    return ok({ ...only, identifier: withFragment(fetched.address, fetched.path) })
  const paths = found.value.map(({ directory }) => pathIn(directory, fetched))
  return fail(
    `it contains ${paths.length} skills; name one with #PATH, or install all with --all: ${paths.slice(0, 20).join(", ")}`,
  )
}

/** All skills at or below the named path. */
function everyIn(fetched: FetchedSource): Result<readonly FetchedSkill[]> {
  const { target, path, source, address, trust } = fetched
  const directory = resolve(target, path)
  if (!isInside(directory, target)) return fail(`the path ${path} is outside of what was fetched`)
  if (!existsSync(directory)) return fail(`there is no directory ${path} in it`)
  const directories = existsSync(join(directory, SKILL_FILE))
    ? [directory]
    : scanSkillRoot({ path: directory, kind: "project" }).skills.map((skill) => skill.directory)
  if (directories.length === 0) return fail(`it contains no ${SKILL_FILE}${path === "" ? "" : ` in ${path}`}`)
  return ok(
    directories.map((at) => ({
      directory: at,
      directoryName: at === target ? addressName(address) : basename(at),
      source,
      identifier: withFragment(address, pathIn(at, fetched)),
      trust,
    })),
  )
}

function pathIn(directory: string, { target }: FetchedSource): string {
  return directory.slice(target.length + 1)
}

/** The last part of the path of a directory, archive or repository, without its extension. */
function addressName(address: string): string {
  return basename(address)
    .replace(ARCHIVE, "")
    .replace(/\.git$/u, "")
}

/** `address#path/in/it` */
function splitFragment(typed: string): readonly string[] {
  const at = typed.indexOf("#")
  return at === -1 ? [typed] : [typed.slice(0, at), typed.slice(at + 1)]
}

function withFragment(address: string, path: string): string {
  return path === "" ? address : `${address}#${path}`
}

interface Repository {
  readonly url: string
  readonly path: string
  /** OWNER/NAME, where GitHub really serves it. */
  readonly github: string | undefined
}

function repositoryOf(address: string): Repository | undefined {
  if (/^(?:https|file):\/\//iu.test(address)) {
    const { hostname, pathname } = new URL(address)
    const [, owner, name, kind, , ...rest] = pathname.replace(/\/+$/u, "").split("/")
    if (hostname.toLowerCase() !== "github.com" || owner === undefined || name === undefined)
      return { url: address, path: "", github: undefined }
    const repository = `${owner}/${name.replace(/\.git$/u, "")}`
    // An address as the browser shows it: …/tree/main/path
    const path = kind === "tree" || kind === "blob" ? rest.join("/").replace(/\/?SKILL\.md$/u, "") : ""
    return { url: `https://github.com/${repository}.git`, path, github: repository }
  }
  const short = /^([A-Za-z0-9][\w-]*)\/([\w.-]+)((?:\/[\w.-]+)*)$/u.exec(address)
  if (short === null) return undefined
  const repository = `${short[1] ?? ""}/${short[2] ?? ""}`
  return { url: `https://github.com/${repository}.git`, path: (short[3] ?? "").slice(1), github: repository }
}
