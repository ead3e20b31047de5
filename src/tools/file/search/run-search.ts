import type { ToolContext } from "../../../toolkit/tool.ts"
import type { SearchScope } from "./search-command.ts"

const SEARCH_TIMEOUT_MS = 60_000
/** A search with more output than this is stopped. */
const MAX_SEARCH_CHARS = 8 * 1024 * 1024

export interface SearchRun {
  readonly output: string
  /** The program reported an error; it may still have found something. */
  readonly failed: boolean
  readonly limitReason?: "search_timeout" | "output_limit"
  /** Why there is no result at all. */
  readonly error?: string
}

/** Runs a search program in the workspace and stops it when its output is too long. */
export async function runSearch(command: string, scope: SearchScope, context: ToolContext): Promise<SearchRun> {
  const enough = new AbortController()
  const running = context.workspace.run(command, {
    cwd: scope.directory,
    timeoutMs: SEARCH_TIMEOUT_MS,
    signal: AbortSignal.any([context.signal, enough.signal]),
    keepChars: 2 * MAX_SEARCH_CHARS,
  })
  let seen = 0
  for await (const text of running.output) {
    seen += text.length
    if (seen > MAX_SEARCH_CHARS) enough.abort()
  }
  const exit = await running.exit
  if (exit.how === "failed-to-start") {
    return { output: "", failed: true, error: `the search could not be started: ${exit.error ?? "unknown reason"}` }
  }
  if (exit.how === "interrupted" && context.signal.aborted) {
    return { output: "", failed: true, error: "the search was interrupted" }
  }
  const tooMuch = exit.how === "interrupted" || exit.omittedChars > 0
  const limitReason = exit.how === "timed-out" ? "search_timeout" : tooMuch ? "output_limit" : undefined
  return {
    // The last line of a stopped program may be incomplete.
    output: limitReason === undefined ? exit.output : exit.output.slice(0, exit.output.lastIndexOf("\n") + 1),
    // Exit code 1 means "no matches".
    failed: exit.how === "exited" && exit.code > 1,
    ...(limitReason === undefined ? {} : { limitReason }),
  }
}
