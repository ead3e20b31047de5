import type { ToolContext } from "../../../toolkit/tool.ts"

const TIMEOUT_MS = 20_000
const MAX_OUTPUT_CHARS = 8 * 1024 * 1024
/** More names than this are not sorted or filtered. */
const MAX_NAMES = 50_000

/** Removes paths that git ignores, as ripgrep does; grep and find do not. */
export async function excludeIgnored(
  paths: readonly string[],
  directory: string,
  context: ToolContext,
): Promise<ReadonlySet<string>> {
  const all = new Set(paths)
  if (paths.length === 0 || paths.length > MAX_NAMES) return all
  const exit = await runWithPaths(CHECK_IGNORE, { paths, directory }, context)
  return all.difference(ignoredPaths(exit))
}

/** Removes ignored paths and sorts by modification time, newest first, or by name where times are not available. */
export async function visibleNewestFirst(
  paths: readonly string[],
  directory: string,
  context: ToolContext,
): Promise<readonly string[]> {
  const named = paths.toSorted()
  if (paths.length === 0 || paths.length > MAX_NAMES) return named
  const exit = await runWithPaths(CHECK_IGNORE_AND_TIMES, { paths: named, directory }, context)
  const [ignoredText = "", timesText = ""] = splitAtMark(exit.output)
  const [code = "", ...ignored] = ignoredText.split("\0").toReversed()
  const hidden = ignoredPaths({ code: exit.code === 0 ? Number(code) : -1, output: ignored.join("\0") })
  const times = timesText.trim().split("\n").map(Number)
  const visible = named.filter((path) => !hidden.has(path))
  // A file that was deleted meanwhile has no line, so the times cannot be assigned to paths.
  if (times.length !== named.length || times.some((time) => !Number.isFinite(time))) return visible
  const timeOf = new Map(named.map((path, index) => [path, times[index] ?? 0]))
  return visible.toSorted((a, b) => (timeOf.get(b) ?? 0) - (timeOf.get(a) ?? 0))
}

/** The repository may be untrusted: its settings must not start programs or connections. */
const CHECK_IGNORE =
  "GIT_NO_LAZY_FETCH=1 GIT_ALLOW_PROTOCOL= git -c core.fsmonitor=false -c core.hooksPath=/dev/null check-ignore -z --no-index --stdin 2>/dev/null"
/** Both queries in one round trip: the ignored paths and the exit code, then the times, one line per path. */
const CHECK_IGNORE_AND_TIMES = `names=$(mktemp) || exit 1
trap 'rm -f -- "$names"' EXIT
cat >"$names"
${CHECK_IGNORE} <"$names"
printf '%s\\036' "$?"
xargs -0 stat -c %Y -- <"$names" 2>/dev/null
exit 0`

function splitAtMark(output: string): readonly string[] {
  const mark = output.lastIndexOf("\u001E")
  return [output.slice(0, mark), output.slice(mark + 1)]
}

/** Any code but 0 means that nothing is ignored, that this is not a repository, or that git is missing. */
function ignoredPaths({ code, output }: { readonly code: number; readonly output: string }): ReadonlySet<string> {
  return new Set(code === 0 ? output.split("\0") : [])
}

async function runWithPaths(
  command: string,
  { paths, directory }: { readonly paths: readonly string[]; readonly directory: string },
  { workspace, signal }: ToolContext,
): Promise<{ readonly code: number; readonly output: string }> {
  const exit = await workspace.run(command, {
    cwd: directory,
    stdin: paths.map((path) => `${path}\0`).join(""),
    timeoutMs: TIMEOUT_MS,
    signal,
    keepChars: MAX_OUTPUT_CHARS,
  }).exit
  return { code: exit.how === "exited" && exit.omittedChars === 0 ? exit.code : -1, output: exit.output }
}
