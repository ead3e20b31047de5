import { runProgram } from "../run-program.ts"

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
 * Respects the user's git settings, because they determine how files are checked out (line endings, LFS). Disables everything that
 * would run programs of the repository or prompt the user.
 */
export function createGit(environment: Readonly<Record<string, string>>): Git {
  return async (args, { directory, signal, timeoutMs = TIMEOUT_MS, variables = {} }) => {
    const result = await runProgram(["git", "-C", directory, ...SETTINGS, ...args], {
      environment: { ...environment, ...NO_PROMPTS, ...variables },
      signal,
      timeoutMs,
    })
    const ok = result.ended === "exited" && result.code === 0
    const problem = ok ? "" : problemOf(result, timeoutMs)
    return {
      ok,
      text: result.stdout.toString("utf8").replace(/\n$/u, ""),
      problem,
      notInstalled: result.notStarted !== undefined,
    }
  }
}

const NO_PROMPTS = { LC_ALL: "C", GIT_TERMINAL_PROMPT: "0", GIT_ASKPASS: "true", SSH_ASKPASS: "true" }

const SETTINGS = [
  "core.hooksPath=/dev/null",
  "core.fsmonitor=false",
  "core.quotePath=false",
  "submodule.recurse=false",
  "gc.auto=0",
  "maintenance.auto=false",
].flatMap((setting) => ["-c", setting])

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
