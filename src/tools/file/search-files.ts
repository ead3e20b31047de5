import { basename, dirname, extname, join, relative } from "node:path"

import { z } from "zod"

import { assertNever } from "../../base/assert-never.ts"
import { isRecord, parseJson } from "../../base/json.ts"
import { explainSystemError } from "../../base/system-error.ts"
import { ellipsize, takeCodePoints } from "../../base/text.ts"
import type { FileSystem } from "../../exec/workspace.ts"
import { defineTool } from "../../toolkit/define-tool.ts"
import { digestValue } from "../../toolkit/digest-line.ts"
import type { ToolContext, ToolResult } from "../../toolkit/tool.ts"
import { failure } from "../failure.ts"
import { isHiddenFromSearch, refusedDevice } from "./refused-source.ts"
import { contentCommand, filesCommand, isWanted, readLines, searchPlace } from "./search-command.ts"
import type { FoundLine, SearchPlace } from "./search-command.ts"
import { similarNames } from "./similar-names.ts"

const SEARCH_TIMEOUT_MS = 60_000
const MAX_SEARCH_OUTPUT = 8 * 1024 * 1024
const MAX_MATCH_CHARS = 500

const whole = (fallback: number) => z.int().default(fallback).catch(fallback)

export const searchFiles = defineTool({
  name: "search_files",
  toolset: "file",
  description:
    "Search file contents by regular expression, or find files by name (target files, glob pattern such as *.ts, newest first). " +
    "Use this instead of grep, rg, find or ls. Ignored and hidden files are left out. output_mode content shows matching lines, " +
    "files_only the paths, count the number per file; page with limit and offset.",
  input: z.object({
    pattern: z.string().min(1).describe("Regular expression (content) or glob (files)"),
    target: z
      .preprocess(
        (value) => (value === "grep" ? "content" : value === "find" ? "files" : value),
        z.enum(["content", "files"]),
      )
      .default("content")
      .meta({ type: "string", enum: ["content", "files"] }),
    path: z.string().default(".").describe("Directory or file to search"),
    file_glob: z.string().optional().describe("Only files whose name matches this glob"),
    limit: whole(50),
    offset: whole(0),
    output_mode: z.enum(["content", "files_only", "count"]).default("content"),
    context: whole(0).describe("Lines before and after each match"),
  }),
  access: "read",
  subject: ({ path }) => ({ kind: "path", path }),
  preview: ({ pattern, path }) => `${pattern} in ${path}`,
  parallel: "safe",
  emoji: "🔎",
  idempotent: true,
  inScripts: true,
  provenance: "file",
  digest: ({ args, result }) => {
    const answer = parseJson(result)
    const total = isRecord(answer) && typeof answer["total_count"] === "number" ? answer["total_count"] : "?"
    const [target, path] = [digestValue(args["target"]) || "content", digestValue(args["path"]) || "."]
    return `[search_files] ${target} search for '${digestValue(args["pattern"])}' in ${path} -> ${total} matches`
  },
  run: async (args, context) => {
    const { files } = context.workspace
    try {
      const root = files.resolve(args.path)
      const refused = refusedDevice(root) ?? refusedDevice(await files.realPath(root))
      if (refused !== undefined) return failure(refused)
      const facts = await files.stat(root)
      if (facts === undefined) return await missing(root, args.path, context)
      if (facts.kind === "other") return failure(`${args.path} is neither a directory nor a regular file`)
      const place = searchPlace(root, facts.kind)
      const page = { limit: Math.max(1, args.limit), offset: Math.max(0, args.offset) }
      return args.target === "files"
        ? await findFiles(place, args.pattern, { page, context })
        : await searchContent(place, { ...args, ...page }, context)
    } catch (error) {
      return failure(`cannot search ${args.path}: ${explainSystemError(error)}`)
    }
  },
})

interface PageOf {
  readonly limit: number
  readonly offset: number
}

async function findFiles(
  place: SearchPlace,
  glob: string,
  { page, context }: { readonly page: PageOf; readonly context: ToolContext },
): Promise<ToolResult> {
  const { workspace } = context
  // Messages of the programs would end up between the names.
  const found = await runSearch(`${filesCommand(place, glob, await workspace.ripgrep())} 2>/dev/null`, place, context)
  if (found.error !== undefined) return failure(found.error)
  if (found.failed && found.output === "") return failure(`${glob} is not a valid glob; escape special characters`)
  const paths = found.output
    .split("\0")
    .filter((path) => path !== "")
    .map((path) => join(place.directory, path))
    .filter((path) => isWanted(path, place, glob) && !isHiddenFromSearch(path))
  const dated = await Promise.all(
    paths.slice(0, MAX_DATED).map(async (path) => ({ path, modified: await modified(path, workspace.files) })),
  )
  const sorted = dated.toSorted((a, b) => b.modified - a.modified || (a.path < b.path ? -1 : 1)).map(({ path }) => path)
  const shown = sorted.slice(page.offset, page.offset + page.limit).map((path) => shorten(path, context))
  return {
    content: { total_count: paths.length, files: shown, ...rest(page, paths.length, found) },
    summary: `${paths.length} files`,
  }
}

const MAX_DATED = 20_000

async function modified(path: string, files: FileSystem): Promise<number> {
  try {
    return (await files.stat(path))?.modifiedMs ?? 0
  } catch {
    // It cannot be looked at, but it was found: it goes to the end of the list.
    return 0
  }
}

interface ContentSearch extends PageOf {
  readonly pattern: string
  readonly file_glob?: string | undefined
  readonly output_mode: "content" | "files_only" | "count"
  readonly context: number
}

async function searchContent(place: SearchPlace, args: ContentSearch, context: ToolContext): Promise<ToolResult> {
  const rg = await context.workspace.ripgrep()
  const query = {
    pattern: args.pattern,
    fileGlob: args.file_glob,
    contextLines: args.output_mode === "content" ? Math.min(Math.max(0, args.context), MAX_CONTEXT_LINES) : 0,
  }
  const found = await runSearch(contentCommand(place, query, rg), place, context)
  if (found.error !== undefined) return failure(found.error)
  const { lines: all, complaint } = readLines(found.output, place, rg)
  if (found.failed && all.length === 0)
    return failure(ellipsize(`the search failed: ${complaint}`, MAX_COMPLAINT_CHARS))
  const lines = all.filter(({ path }) => isWanted(path, place, args.file_glob) && !isHiddenFromSearch(path))
  const matches = lines.filter(({ isContext }) => !isContext)
  const counts = Map.groupBy(matches, ({ path }) => shorten(path, context))
  const summary = `${matches.length} matches in ${counts.size} files`
  switch (args.output_mode) {
    case "files_only": {
      const shown = [...counts.keys()].slice(args.offset, args.offset + args.limit)
      return { content: { total_count: counts.size, files: shown, ...rest(args, counts.size, found) }, summary }
    }
    case "count": {
      const shown = [...counts].slice(args.offset, args.offset + args.limit)
      const numbers = Object.fromEntries(shown.map(([path, { length }]) => [path, length]))
      return { content: { total_count: matches.length, counts: numbers, ...rest(args, counts.size, found) }, summary }
    }
    case "content":
      return {
        content: {
          total_count: matches.length,
          matches: pageOfMatches(lines, args).map(({ path, line, content }) => ({
            path: shorten(path, context),
            line,
            content: takeCodePoints(context.redact(content, { codeFile: true }), MAX_MATCH_CHARS),
          })),
          ...rest(args, matches.length, found),
        },
        summary,
      }
    default:
      return assertNever(args.output_mode)
  }
}

const MAX_CONTEXT_LINES = 20
const MAX_COMPLAINT_CHARS = 500

/** The matches of a page with the lines around them; offset and limit count matches only. */
function pageOfMatches(lines: readonly FoundLine[], page: PageOf): readonly FoundLine[] {
  let matches = 0
  return lines.filter((line, index) => {
    const before = matches
    if (!line.isContext) matches += 1
    const owner = line.isContext && !followsMatch(lines, index) ? before : Math.max(0, matches - 1)
    return owner >= page.offset && owner < page.offset + page.limit
  })
}

/** Whether a context line stands behind a match of its own block, not only in front of the next one. */
function followsMatch(lines: readonly FoundLine[], index: number): boolean {
  for (let at = index; at > 0; at -= 1) {
    const [line, previous] = [lines[at], lines[at - 1]]
    if (line === undefined || previous?.path !== line.path || previous.line !== line.line - 1) return false
    if (!previous.isContext) return true
  }
  return false
}

interface SearchRun {
  readonly output: string
  /** The program reported an error; it may have found something nevertheless. */
  readonly failed: boolean
  readonly limitReason?: "search_timeout" | "output_limit"
  readonly error?: string
}

async function runSearch(command: string, place: SearchPlace, context: ToolContext): Promise<SearchRun> {
  const exit = await context.workspace.run(command, {
    cwd: place.directory,
    timeoutMs: SEARCH_TIMEOUT_MS,
    signal: context.signal,
    keepChars: MAX_SEARCH_OUTPUT,
  }).exit
  if (exit.how === "failed-to-start") {
    return { output: "", failed: true, error: `the search could not be started: ${exit.error ?? "unknown reason"}` }
  }
  const limitReason = exit.how === "timed-out" ? "search_timeout" : exit.omittedChars > 0 ? "output_limit" : undefined
  // Exit code 1 means "no matches".
  return {
    output: exit.output,
    failed: exit.how === "exited" && exit.code > 1,
    ...(limitReason === undefined ? {} : { limitReason }),
  }
}

function rest(page: PageOf, total: number, { limitReason }: SearchRun): Record<string, unknown> {
  const end = page.offset + page.limit
  return {
    truncated: total > end || limitReason !== undefined,
    ...(limitReason === undefined ? {} : { limit_reason: limitReason }),
    ...(total > end ? { hint: `more results: use offset ${end}` } : {}),
  }
}

function shorten(path: string, context: ToolContext): string {
  const local = relative(context.workspace.cwd(), path)
  return local === "" || local === ".." || local.startsWith("../") ? path : local
}

async function missing(root: string, given: string, context: ToolContext): Promise<ToolResult> {
  const parent = dirname(root)
  const entries =
    (await context.workspace.files.stat(parent)) === undefined ? [] : await context.workspace.files.list(parent)
  const names = similarNames(
    basename(root),
    entries.map((entry) => entry.name),
    extname(root),
  )
  return failure(`path not found: ${given}`, names.length === 0 ? {} : { similar_files: names })
}
