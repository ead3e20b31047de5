import { fail, ok } from "../../base/result.ts"
import type { Result } from "../../base/result.ts"
import type { Environment } from "../../config/environment.ts"
import { lastLine, runProgram } from "../../exec/run-program.ts"
import { findSafeGit, NO_PROGRAMS } from "../../exec/safe-git.ts"
import type { SafeGit } from "../../exec/safe-git.ts"

const TIMEOUT_MS = 60_000

export interface GitOptions {
  readonly environment: Environment
  readonly signal: AbortSignal
}

/** A shallow clone without hooks, submodules and settings of the user. ssh is refused, because it would start other programs. */
export async function clonePlugin(url: string, target: string, options: GitOptions): Promise<Result<undefined>> {
  const words = [
    "clone",
    "--quiet",
    "--depth",
    "1",
    "--no-tags",
    "--single-branch",
    "--no-recurse-submodules",
    "--template=",
  ]
  const cloned = await runGit([...words, "--", url, target], options)
  return cloned.ok ? ok(undefined) : fail(`${url} cannot be cloned: ${cloned.error}`)
}

/**
 * Moves a clone forward to what its origin has now. Refuses when that is not a fast-forward, and moves back when `problem` finds a reason
 * against the new content.
 */
export async function fastForward(
  directory: string,
  problem: () => string | undefined,
  options: GitOptions,
): Promise<Result<"updated" | "current">> {
  const head = async (): Promise<string> => {
    const shown = await runGit(["-C", directory, "rev-parse", "HEAD"], options)
    return shown.ok ? shown.value : ""
  }
  const before = await head()
  const fetched = await runGit(
    ["-C", directory, "fetch", "--quiet", "--no-tags", "--no-recurse-submodules", "origin"],
    options,
  )
  if (!fetched.ok) return fail(fetched.error)
  const merged = await runGit(["-C", directory, "merge", "--quiet", "--ff-only", "FETCH_HEAD"], options)
  if (!merged.ok) return fail(`it is not a fast-forward: ${merged.error}`)
  const reason = problem()
  if (reason !== undefined) {
    await runGit(["-C", directory, "reset", "--quiet", "--hard", before], options)
    return fail(reason)
  }
  return ok((await head()) === before ? "current" : "updated")
}

async function runGit(words: readonly string[], { environment, signal }: GitOptions): Promise<Result<string>> {
  const git = findSafeGit(environment.get("PATH") ?? "")
  if (git === undefined) return fail("git is not installed; install it, or install the plugin from a folder")
  const { code, stdout, stderr, ended } = await runProgram([git.program, ...NO_PROGRAMS, ...words], {
    environment: gitEnvironment(git, environment),
    signal,
    timeoutMs: TIMEOUT_MS,
  })
  if (code === 0) return ok(stdout.toString("utf8").trim())
  return fail(ended === "timed-out" ? "it took longer than 60 s" : lastLine(stderr) || `git exited with ${code}`)
}

const PASSED = [
  "https_proxy",
  "HTTPS_PROXY",
  "http_proxy",
  "HTTP_PROXY",
  "no_proxy",
  "NO_PROXY",
  "SSL_CERT_FILE",
  "GIT_SSL_CAINFO",
]

function gitEnvironment(git: SafeGit, environment: Environment): Readonly<Record<string, string>> {
  const passed = PASSED.flatMap((name): [string, string][] => {
    const value = environment.get(name)
    return value === undefined ? [] : [[name, value]]
  })
  return {
    ...git.environment,
    ...Object.fromEntries(passed),
    GIT_ALLOW_PROTOCOL: "https:http:file",
    GIT_CONFIG_NOSYSTEM: "1",
    GIT_CONFIG_GLOBAL: "/dev/null",
  }
}
