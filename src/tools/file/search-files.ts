import { basename, dirname, extname, relative } from "node:path"

import { z } from "zod"

import { isRecord, parseJson } from "../../base/json.ts"
import { explainSystemError } from "../../base/system-error.ts"
import { takeCodePoints } from "../../base/text.ts"
import { defineTool } from "../../toolkit/define-tool.ts"
import type { ToolContext, ToolResult } from "../../toolkit/tool.ts"
import { failure } from "../failure.ts"
import { quoteForShell } from "./quote-for-shell.ts"
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
  run: async (args, context) => {
    const { files } = context.workspace
    try {
      const root = files.resolve(args.path)
      if ((await files.stat(root)) === undefined) return await missing(root, args.path, context)
      const page = { limit: Math.max(1, args.limit), offset: Math.max(0, args.offset) }
      return args.target === "files"
        ? await findFiles(root, args.pattern, page, context)
        : await searchContent(root, { ...args, ...page }, context)
    } catch (error) {
      return failure(`cannot search ${args.path}: ${explainSystemError(error)}`)
    }
  },
})

interface PageOf {
  readonly limit: number
  readonly offset: number
}

async function findFiles(root: string, pattern: string, page: PageOf, context: ToolContext): Promise<ToolResult> {
  const glob = pattern.includes("/") ? pattern : `**/${pattern}`
  const rg = await context.workspace.ripgrep()
  const command =
    rg === undefined
      ? `find ${quoteForShell(root)} -type f -not -path '*/.*' -name ${quoteForShell(basename(pattern))}`
      : `${quoteForShell(rg)} --files --null --no-messages -g ${quoteForShell(glob)} ${quoteForShell(root)}`
  const found = await runSearch(command, context)
  if (found.error !== undefined) return failure(found.error)
  const paths = found.output.split(rg === undefined ? "\n" : "\0").filter((path) => path !== "")
  const dated = await Promise.all(
    paths
      .slice(0, MAX_DATED)
      .map(async (path) => ({ path, modified: (await context.workspace.files.stat(path))?.modifiedMs ?? 0 })),
  )
  const sorted = dated.toSorted((a, b) => b.modified - a.modified || (a.path < b.path ? -1 : 1)).map(({ path }) => path)
  const shown = sorted.slice(page.offset, page.offset + page.limit).map((path) => shorten(path, context))
  return {
    content: { total_count: paths.length, files: shown, ...rest(page, paths.length, found.timedOut) },
    summary: `${paths.length} files`,
  }
}

const MAX_DATED = 20_000

interface ContentSearch extends PageOf {
  readonly pattern: string
  readonly file_glob?: string | undefined
  readonly output_mode: "content" | "files_only" | "count"
  readonly context: number
}

interface Match {
  readonly path: string
  readonly line: number
  readonly content: string
}

async function searchContent(root: string, args: ContentSearch, context: ToolContext): Promise<ToolResult> {
  const rg = await context.workspace.ripgrep()
  const found = await runSearch(rg === undefined ? grepCommand(root, args) : ripgrepCommand(rg, root, args), context)
  if (found.error !== undefined) return failure(found.error)
  const matches = rg === undefined ? readGrep(found.output) : readRipgrep(found.output)
  const paths = [...new Set(matches.map((match) => match.path))]
  if (args.output_mode === "files_only") {
    const shown = paths.slice(args.offset, args.offset + args.limit).map((path) => shorten(path, context))
    return {
      content: { total_count: paths.length, files: shown, ...rest(args, paths.length, found.timedOut) },
      summary: `${paths.length} files`,
    }
  }
  if (args.output_mode === "count") {
    const counts: Record<string, number> = {}
    for (const match of matches) {
      const path = shorten(match.path, context)
      counts[path] = (counts[path] ?? 0) + 1
    }
    return { content: { total_count: matches.length, counts }, summary: `${matches.length} matches` }
  }
  const shown = matches.slice(args.offset, args.offset + args.limit).map((match) => ({
    path: shorten(match.path, context),
    line: match.line,
    content: context.redact(takeCodePoints(match.content, MAX_MATCH_CHARS), { codeFile: true }),
  }))
  return {
    content: { total_count: matches.length, matches: shown, ...rest(args, matches.length, found.timedOut) },
    summary: `${matches.length} matches in ${paths.length} files`,
  }
}

function ripgrepCommand(rg: string, root: string, args: ContentSearch): string {
  const glob = args.file_glob === undefined ? "" : ` -g ${quoteForShell(args.file_glob)}`
  const around = args.context > 0 && args.output_mode === "content" ? ` -C ${Math.min(args.context, 20)}` : ""
  return `${quoteForShell(rg)} --json --no-messages${glob}${around} -e ${quoteForShell(args.pattern)} -- ${quoteForShell(root)}`
}

function grepCommand(root: string, args: ContentSearch): string {
  const glob = args.file_glob === undefined ? "" : ` --include=${quoteForShell(args.file_glob)}`
  return `grep -rnEI --null --exclude-dir='.*'${glob} -e ${quoteForShell(args.pattern)} -- ${quoteForShell(root)}`
}

/** One JSON object per line; context lines count as lines of the match they belong to. */
function readRipgrep(output: string): Match[] {
  return output.split("\n").flatMap((text) => {
    const event = parseJson(text)
    if (!isRecord(event) || (event["type"] !== "match" && event["type"] !== "context") || !isRecord(event["data"]))
      return []
    const { path, lines, line_number: line } = event["data"]
    const file = isRecord(path) && typeof path["text"] === "string" ? path["text"] : undefined
    const content = isRecord(lines) && typeof lines["text"] === "string" ? lines["text"].replace(/\r?\n$/, "") : ""
    return file === undefined || typeof line !== "number" ? [] : [{ path: file, line, content }]
  })
}

function readGrep(output: string): Match[] {
  return output.split("\n").flatMap((text) => {
    const found = /^([^\0]+)\0(\d+)[:-](.*)$/s.exec(text)
    return found === null ? [] : [{ path: found[1] ?? "", line: Number(found[2]), content: found[3] ?? "" }]
  })
}

interface SearchRun {
  readonly output: string
  readonly timedOut: boolean
  readonly error?: string
}

async function runSearch(command: string, context: ToolContext): Promise<SearchRun> {
  const exit = await context.workspace.run(command, {
    timeoutMs: SEARCH_TIMEOUT_MS,
    signal: context.signal,
    keepChars: MAX_SEARCH_OUTPUT,
  }).exit
  if (exit.how === "failed-to-start")
    return { output: "", timedOut: false, error: exit.error ?? "the search could not be started" }
  // Exit code 1 means "no matches"; 2 is a failure only when nothing was found at all.
  if (exit.code === 2 && exit.output.trim() === "") {
    return { output: "", timedOut: false, error: "the pattern is not a valid regular expression or glob" }
  }
  return { output: exit.output, timedOut: exit.how === "timed-out" }
}

function rest(page: PageOf, total: number, timedOut: boolean): Record<string, unknown> {
  const end = page.offset + page.limit
  const truncated = total > end || timedOut
  return {
    truncated,
    ...(timedOut ? { limit_reason: "search_timeout" } : {}),
    ...(total > end ? { hint: `more results: use offset ${end}` } : {}),
  }
}

function shorten(path: string, context: ToolContext): string {
  const local = relative(context.workspace.cwd(), path)
  return local === "" || local.startsWith("..") ? path : local
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
