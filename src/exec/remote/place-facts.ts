import { fail, ok } from "../../base/result.ts"
import type { Result } from "../../base/result.ts"
import { askScript } from "./transport.ts"
import type { Transport } from "./transport.ts"

/** What is asked once about a place when it is opened. */
export interface PlaceFacts {
  /** Absolute path of bash, or of another shell where there is none. */
  readonly shell: string
  readonly os: string
  readonly release: string
  readonly user: string
  readonly home: string
  readonly ripgrep: string | undefined
  /** The directory that a new connection starts in. */
  readonly cwd: string
  readonly temporary: string
}

export async function askPlaceFacts(
  transport: Transport,
  options: { readonly signal: AbortSignal; readonly timeoutMs: number },
): Promise<Result<PlaceFacts>> {
  const answer = await askScript(transport, { script: FACTS_SCRIPT, args: [] }, options)
  if (answer.kind === "unreachable") return fail(answer.error)
  if (answer.code !== 0) return fail(answer.stderr.trim())
  const [shell = "", os = "", release = "", user = "", home = "", ripgrep = "", cwd = "", temporary = ""] =
    answer.stdout.toString("utf8").split("\0")
  return ok({ shell, os, release, user, home, ripgrep: ripgrep === "" ? undefined : ripgrep, cwd, temporary })
}

const FACTS_SCRIPT = `stat -c %f / >/dev/null 2>&1 && command -v head >/dev/null || { echo "the tools of GNU or BusyBox are missing there" >&2; exit 40; }
printf '%s\\0' "$(command -v bash || command -v sh)" "$(uname -s)" "$(uname -r)" "$(id -un 2>/dev/null || id -u)" \\
  "\${HOME:-/}" "$(command -v rg)" "$(pwd -P)" "\${TMPDIR:-/tmp}"`
