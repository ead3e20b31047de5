import { fail, ok } from "../../base/result.ts"
import type { Result } from "../../base/result.ts"
import { runScript } from "./transport.ts"
import type { Transport } from "./transport.ts"

/** Facts about a remote workspace, read once when it is opened. */
export interface RemoteWorkspaceFacts {
  /** Absolute path of bash, or of another shell when bash is not installed. */
  readonly shell: string
  readonly os: string
  readonly release: string
  readonly user: string
  readonly home: string
  readonly ripgrep: string | undefined
  /** The initial working directory. */
  readonly cwd: string
  readonly temporary: string
}

export async function readWorkspaceFacts(
  transport: Transport,
  options: { readonly signal: AbortSignal; readonly timeoutMs: number },
): Promise<Result<RemoteWorkspaceFacts>> {
  const result = await runScript(transport, { script: FACTS_SCRIPT, args: [] }, options)
  if (result.kind === "unreachable") return fail(result.error)
  if (result.code !== 0) return fail(result.stderr.trim())
  const [shell = "", os = "", release = "", user = "", home = "", ripgrep = "", cwd = "", temporary = ""] =
    result.stdout.toString("utf8").split("\0")
  return ok({ shell, os, release, user, home, ripgrep: ripgrep === "" ? undefined : ripgrep, cwd, temporary })
}

const FACTS_SCRIPT = `stat -c %f / >/dev/null 2>&1 && command -v head >/dev/null || { echo "the workspace has neither GNU nor BusyBox tools; install one of them" >&2; exit 40; }
printf '%s\\0' "$(command -v bash || command -v sh)" "$(uname -s)" "$(uname -r)" "$(id -un 2>/dev/null || id -u)" \\
  "\${HOME:-/}" "$(command -v rg)" "$(pwd -P)" "\${TMPDIR:-/tmp}"`
