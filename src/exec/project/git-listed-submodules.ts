import { fail, ok } from "../../base/result.ts"
import type { Result } from "../../base/result.ts"
import { lastLine, spawnProgram } from "../run-program.ts"
import { findSafeGit, NO_PROGRAMS } from "../safe-git.ts"
import { isSubmodule } from "./git-index-file.ts"

const TIMEOUT_MS = 10_000
const MAX_SUBMODULES = 20_000
const MAX_RECORD_BYTES = 100_000
/** A mode has six digits, or more in an index that git did not write. */
const MODE_CHARS = 11
const TAB = 0x09

/** Asks git for the paths of the submodules in the index of a repository. Git runs no program for this, and nothing of the user's settings applies. */
export async function listSubmodules(
  gitDirectory: string,
  { path, signal }: { readonly path: string; readonly signal: AbortSignal | undefined },
): Promise<Result<readonly Buffer[]>> {
  if (signal?.aborted === true) return fail("git was interrupted")
  const git = findSafeGit(path)
  if (git === undefined) return fail("there is no git in a directory of the system")
  const found: Buffer[] = []
  let rest = Buffer.alloc(0)
  let problem: string | undefined
  const stop = (why: string): void => {
    problem ??= why
    child.kill()
  }
  const child = spawnProgram(
    [git.program, "--git-dir", gitDirectory, "--work-tree", "/", ...NO_PROGRAMS, "ls-files", "--stage", "-z"],
    {
      cwd: "/",
      // Git leaves no process that holds the pipe open, and what is cut off would be taken for the whole list.
      drainMs: TIMEOUT_MS,
      environment: { ...git.environment, GIT_CONFIG_GLOBAL: "/dev/null", GIT_CONFIG_NOSYSTEM: "1" },
      onOutput: (chunk) => {
        const bytes = Buffer.concat([rest, chunk])
        let start = 0
        for (let end = bytes.indexOf(0); end >= 0; end = bytes.indexOf(0, start)) {
          if (isSubmodule(Number.parseInt(bytes.toString("latin1", start, start + MODE_CHARS), 8)))
            found.push(Buffer.from(bytes.subarray(bytes.indexOf(TAB, start) + 1, end)))
          start = end + 1
        }
        rest = bytes.subarray(start)
        if (found.length > MAX_SUBMODULES) stop(`it lists more than ${MAX_SUBMODULES} submodules`)
        if (rest.length > MAX_RECORD_BYTES) stop("a path in it is too long")
      },
    },
  )
  const timer = setTimeout(() => {
    stop(`git did not finish within ${TIMEOUT_MS / 1000} s`)
  }, TIMEOUT_MS)
  const onAbort = (): void => {
    stop("git was interrupted")
  }
  signal?.addEventListener("abort", onAbort, { once: true })
  const { code, stderr, notStarted } = await child.exit
  clearTimeout(timer)
  signal?.removeEventListener("abort", onAbort)
  problem ??= notStarted ?? (code === 0 ? undefined : lastLine(stderr) || `git exited with code ${code}`)
  return problem === undefined ? ok(found) : fail(problem)
}
