import { existsSync, realpathSync } from "node:fs"
import { dirname, join, sep } from "node:path"

import { findTrustedProgram } from "../../base/find-program.ts"
import { fail, ok, type Result } from "../../base/result.ts"
import type { Environment } from "../../config/environment.ts"
import { runProgram } from "../../exec/run-program.ts"

/** How this program was installed. `checkout`: a clone of the repository; `package`: npm. */
export interface Installation {
  readonly kind: "checkout" | "package" | "unknown"
  readonly root: string
}

/** `program` is the script that Node runs. */
export function findInstallation(program: string): Installation {
  const root = dirname(dirname(existsSync(program) ? realpathSync(program) : program))
  if (root.split(sep).includes("node_modules")) return { kind: "package", root }
  return { kind: existsSync(join(root, ".git")) ? "checkout" : "unknown", root }
}

export interface UpdateState {
  readonly installed: string
  /** The newest commit of the branch at its origin. */
  readonly newest: string
  readonly isCurrent: boolean
}

const LIMIT_MS = 20_000

/** Compares a checkout with its origin. Nothing is downloaded. Fails with a sentence. */
export async function checkForUpdate(
  { root }: Installation,
  options: { readonly branch: string | undefined; readonly environment: Environment; readonly signal: AbortSignal },
): Promise<Result<UpdateState>> {
  const variables = options.environment.toObject()
  const git = findTrustedProgram("git", variables["PATH"] ?? "")
  if (git === undefined) return fail("git is not installed, so the newest version is not known. Install git to check.")
  const run = async (args: readonly string[]): Promise<Result<string>> => {
    const { code, ended, stdout, stderr } = await runProgram([git, "-C", root, ...args], {
      environment: { ...variables, GIT_TERMINAL_PROMPT: "0", LC_ALL: "C" },
      signal: options.signal,
      timeoutMs: LIMIT_MS,
    })
    if (ended === "timed-out") return fail("The origin of the checkout did not answer in time. Try again later.")
    const reason =
      stderr
        .trim()
        .split("\n", 1)[0]
        ?.replace(/^fatal: /u, "") ?? ""
    return code === 0
      ? ok(stdout.toString("utf8").trim())
      : fail(`The origin of the checkout could not be asked for its newest version: ${reason}.`)
  }
  const installed = await run(["rev-parse", "HEAD"])
  if (!installed.ok) return installed
  const listed = await run([
    "ls-remote",
    "origin",
    options.branch === undefined ? "HEAD" : `refs/heads/${options.branch}`,
  ])
  if (!listed.ok) return listed
  const newest = listed.value.split(/\s/u, 1)[0] ?? ""
  if (newest === "") return fail(`The origin of the checkout has no branch ${options.branch ?? "HEAD"}.`)
  return ok({ installed: installed.value, newest, isCurrent: installed.value === newest })
}
