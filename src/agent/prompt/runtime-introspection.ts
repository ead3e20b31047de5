import { ellipsize } from "../../base/text.ts"
import type { Workspace } from "../../exec/workspace.ts"
import { scanThreats } from "../../knowledge/threat-scan.ts"

/**
 * Describes the working directory at the start of a session: branch, uncommitted changes, background processes. Empty outside a
 * repository, when git is missing or slow, and when a name looks like a prompt injection. Runs git once.
 */
export async function introspectRuntime(
  workspace: Pick<Workspace, "run" | "cwd">,
  options: { readonly processes?: readonly string[]; readonly signal: AbortSignal },
): Promise<string> {
  const { exit } = workspace.run(GIT_STATUS, { timeoutMs: TIMEOUT_MS, keepChars: KEEP_CHARS, signal: options.signal })
  const { how, code, output, omittedChars } = await exit
  const processes = options.processes ?? []
  const lines = [
    ...(how === "exited" && code === 0 ? repositoryLines(output, omittedChars > 0) : []),
    ...(processes.length === 0 ? [] : [`Running in the background: ${listed(processes)}`]),
  ]
  if (lines.length === 0) return ""
  const text = [`When this session began, in ${workspace.cwd()}:`, ...lines].join("\n")
  return scanThreats(text, "context").length > 0 ? "" : text
}

/** Takes no lock and runs no program that the repository configures. */
const GIT_STATUS =
  "GIT_OPTIONAL_LOCKS=0 GIT_NO_LAZY_FETCH=1 GIT_ALLOW_PROTOCOL= git -c core.fsmonitor=false -c core.quotePath=true status --porcelain " +
  "--branch --ignore-submodules=all"
const TIMEOUT_MS = 1000
const KEEP_CHARS = 20_000
const SHOWN_NAMES = 5
const SHOWN_CHARS = 80

function repositoryLines(status: string, cut: boolean): readonly string[] {
  const [head = "", ...changes] = status.split("\n").filter((line) => line !== "")
  const branch = /^## (?:No commits yet on )?(?<name>.+?)(?:\.\.\.|$)/u.exec(head)?.groups?.["name"] ?? ""
  const paths = changes.map((line) => line.slice(3))
  return [
    `Git branch: ${branch.startsWith("HEAD (no branch)") ? "none (detached)" : ellipsize(branch, SHOWN_CHARS)}`,
    paths.length === 0
      ? "No uncommitted changes."
      : `Uncommitted changes: ${cut ? "more than " : ""}${paths.length} (${listed(paths)})`,
  ]
}

function listed(names: readonly string[]): string {
  const shown = names.slice(0, SHOWN_NAMES).map((name) => ellipsize(name, SHOWN_CHARS))
  return [...shown, ...(names.length > SHOWN_NAMES ? ["…"] : [])].join(", ")
}
