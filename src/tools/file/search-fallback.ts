import type { ToolContext } from "../../toolkit/tool.ts"

const TIMEOUT_MS = 20_000
const MAX_OUTPUT_CHARS = 8 * 1024 * 1024
/** More names than this are left in the order they were found in. */
const MAX_NAMES = 50_000

/** The paths that a repository does not ignore: what ripgrep leaves out by itself must not be found by grep and find. */
export async function withoutIgnored(
  paths: readonly string[],
  directory: string,
  context: ToolContext,
): Promise<ReadonlySet<string>> {
  const all = new Set(paths)
  if (paths.length === 0 || paths.length > MAX_NAMES) return all
  const exit = await ask("git check-ignore -z --no-index --stdin 2>/dev/null", { paths, directory }, context)
  // Anything but 0 means that nothing is ignored, that this is no repository, or that there is no git.
  if (exit.code !== 0) return all
  return all.difference(new Set(exit.output.split("\0")))
}

/** Paths by the time of their last change, newest first; in the order of their names where that cannot be had. */
export async function newestFirst(
  paths: readonly string[],
  directory: string,
  context: ToolContext,
): Promise<readonly string[]> {
  const named = paths.toSorted()
  if (paths.length === 0 || paths.length > MAX_NAMES) return named
  const exit = await ask("xargs -0 stat -c %Y -- 2>/dev/null", { paths: named, directory }, context)
  const times = exit.output.trim().split("\n").map(Number)
  // A file that has gone meanwhile has no line, and then nobody knows whose the others are.
  if (times.length !== named.length || times.some((time) => !Number.isFinite(time))) return named
  return named
    .map((path, index) => ({ path, time: times[index] ?? 0 }))
    .toSorted((a, b) => b.time - a.time)
    .map(({ path }) => path)
}

async function ask(
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
