import { askClient } from "../remote/client-process.ts"

/** Runs git on a repository of the person. Never rejects. */
export type Git = (args: readonly string[], how: GitCall) => Promise<GitAnswer>

export interface GitCall {
  readonly directory: string
  readonly signal: AbortSignal
  readonly timeoutMs?: number
  /** Beside the usual ones: which repository is meant, where that must not be looked up in files that a command could change. */
  readonly variables?: Readonly<Record<string, string>>
}

export interface GitAnswer {
  readonly ok: boolean
  /** Without the line break at the end. */
  readonly text: string
  /** Why it failed, in git's words or ours; empty when it did not. */
  readonly problem: string
  readonly notInstalled: boolean
}

const TIMEOUT_MS = 30_000

/**
 * The person's own settings count, because they say how files are checked out (line ends, large files). What would start programs of
 * the repository or wait for a person is off.
 */
export function createGit(environment: Readonly<Record<string, string>>): Git {
  return async (args, { directory, signal, timeoutMs = TIMEOUT_MS, variables = {} }) => {
    const answer = await askClient(["git", "-C", directory, ...SETTINGS, ...args], {
      environment: { ...environment, ...QUIET, ...variables },
      signal,
      timeoutMs,
    })
    const ok = answer.ended === "exited" && answer.code === 0
    const problem = ok ? "" : problemOf(answer, timeoutMs)
    return {
      ok,
      text: answer.stdout.toString("utf8").replace(/\n$/u, ""),
      problem,
      notInstalled: answer.notStarted !== undefined,
    }
  }
}

const QUIET = { LC_ALL: "C", GIT_TERMINAL_PROMPT: "0", GIT_ASKPASS: "true", SSH_ASKPASS: "true" }

const SETTINGS = [
  "core.hooksPath=/dev/null",
  "core.fsmonitor=false",
  "core.quotePath=false",
  "submodule.recurse=false",
  "gc.auto=0",
  "maintenance.auto=false",
].flatMap((setting) => ["-c", setting])

function problemOf(
  answer: { readonly ended: string; readonly notStarted?: string; readonly stderr: string; readonly code: number },
  timeoutMs: number,
): string {
  if (answer.ended === "timed-out") return `git did not finish within ${timeoutMs / 1000} s`
  if (answer.ended === "interrupted") return "it was interrupted"
  if (answer.notStarted !== undefined) return "git cannot be started; install it"
  const lines = answer.stderr.split("\n").filter((line) => line.trim() !== "")
  const fatal = lines.find((line) => /^(?:fatal|error): /u.test(line)) ?? lines.at(-1)
  return fatal?.replace(/^(?:fatal|error): /u, "").slice(0, MAX_PROBLEM_CHARS) ?? `git ended with code ${answer.code}`
}

const MAX_PROBLEM_CHARS = 300
