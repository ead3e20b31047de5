import { lazy } from "../../base/lazy.ts"
import { runProgram } from "../run-program.ts"
import type { CommandLineResult } from "../run-program.ts"
import { disabledFilters, findSafeGit, NO_PROGRAMS } from "../safe-git.ts"

/** Runs git in one of the user's repositories. Never rejects. */
export type Git = (args: readonly string[], options: GitCallOptions) => Promise<GitResult>

export interface GitCallOptions {
  readonly directory: string
  readonly signal: AbortSignal
  readonly timeoutMs?: number
  /** Additional environment variables, such as GIT_DIR to avoid trusting a `.git` file that a command could have changed. */
  readonly variables?: Readonly<Record<string, string>>
}

export interface GitResult {
  readonly ok: boolean
  /** Standard output without the trailing line break. */
  readonly text: string
  /** Why git failed; empty on success. */
  readonly problem: string
  readonly notInstalled: boolean
}

const TIMEOUT_MS = 30_000

/**
 * Respects the user's git settings, because they determine how files are checked out (line endings, LFS). Disables everything of the
 * repository that would run programs, and everything that would connect or prompt the user.
 */
export function createGit(environment: Readonly<Record<string, string>>): Git {
  const safe = lazy(() => findSafeGit(environment["PATH"] ?? ""))
  const run = async (
    args: readonly string[],
    { directory, signal, timeoutMs = TIMEOUT_MS, variables = {} }: GitCallOptions,
  ) => {
    const git = safe()
    if (git === undefined) return NOT_INSTALLED
    return await runProgram([git.program, "-C", directory, ...NO_PROGRAMS, ...SETTINGS, ...args], {
      environment: { ...environment, ...git.environment, ...variables },
      signal,
      timeoutMs,
    })
  }
  return async (args, options) => {
    const filters = mayRunFilters(args) ? await filtersOf(run, options) : []
    const result = await run([...filters, ...args], options)
    const ok = result.ended === "exited" && result.code === 0
    return {
      ok,
      text: result.stdout.toString("utf8").replace(/\n$/u, ""),
      problem: ok ? "" : problemOf(result, options.timeoutMs ?? TIMEOUT_MS),
      notInstalled: result.notStarted !== undefined,
    }
  }
}

const NOT_INSTALLED: CommandLineResult = {
  ended: "exited",
  code: -1,
  stdout: Buffer.alloc(0),
  stderr: "",
  notStarted: "there is no git in a directory of the system",
}

/** Commands that only read names and refs convert no files. */
function mayRunFilters(args: readonly string[]): boolean {
  return args.some((word) => word === "worktree" || word === "status")
}

/** The overrides for the filters that the repository's own configuration defines; those of the user stay. */
async function filtersOf(
  run: (args: readonly string[], options: GitCallOptions) => Promise<CommandLineResult>,
  options: GitCallOptions,
): Promise<readonly string[]> {
  const listed = await Promise.all(
    ["--local", "--worktree"].map((scope) =>
      run(["config", scope, "--includes", "--name-only", "-z", "--list"], options),
    ),
  )
  return disabledFilters(listed.flatMap(({ stdout }) => stdout.toString("utf8").split("\0")))
}

const SETTINGS = ["-c", "core.quotePath=false"]

function problemOf(
  result: { readonly ended: string; readonly notStarted?: string; readonly stderr: string; readonly code: number },
  timeoutMs: number,
): string {
  if (result.ended === "timed-out") return `git did not finish within ${timeoutMs / 1000} s`
  if (result.ended === "interrupted") return "git was interrupted"
  if (result.notStarted !== undefined) return "git cannot be started; install it"
  const lines = result.stderr.split("\n").filter((line) => line.trim() !== "")
  const fatal = lines.find((line) => /^(?:fatal|error): /u.test(line)) ?? lines.at(-1)
  return fatal?.replace(/^(?:fatal|error): /u, "").slice(0, MAX_PROBLEM_CHARS) ?? `git exited with code ${result.code}`
}

const MAX_PROBLEM_CHARS = 300
