import { join } from "node:path"

import { z } from "zod"

import { assertNever } from "../../base/assert-never.ts"
import { isRecord, parseJson, stringField } from "../../base/json.ts"
import { explainSystemError } from "../../base/system-error.ts"
import { ellipsize, takeCodePoints } from "../../base/text.ts"
import { defineTool } from "../../toolkit/define-tool.ts"
import { digestValue } from "../../toolkit/digest-line.ts"
import type { ToolContext, ToolResult } from "../../toolkit/tool.ts"
import { failure } from "../failure.ts"
import { refusedDevice } from "./refused-source.ts"
import { repetitionOf } from "./repeated-call.ts"
import {
  findNames,
  grepLines,
  ripgrepCounts,
  ripgrepFiles,
  ripgrepLines,
  ripgrepNames,
  searchPlace,
} from "./search-command.ts"
import type { ContentQuery, SearchPlace } from "./search-command.ts"
import { visibleNewestFirst, withoutIgnored } from "./search-fallback.ts"
import { readCounts, readFoundLines, readNames } from "./search-output.ts"
import type { FoundByFile, FoundLine } from "./search-output.ts"
import { runSearch } from "./search-run.ts"
import type { SearchRun } from "./search-run.ts"
import { createVisibility } from "./search-visibility.ts"
import { outsideWarning, shownPath, similarFiles } from "./store-file.ts"

const MAX_MATCH_CHARS = 500
const MAX_CONTEXT_LINES = 20
const MAX_COMPLAINT_CHARS = 500

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
      if (facts === undefined) return failure(`path not found: ${root}`, await similarFiles(root, files))
      if (facts.kind === "other") return failure(`${args.path} is neither a directory nor a regular file`)
      const repetition = repetitionOf(
        { signature: `search ${JSON.stringify({ ...args, root })}`, what: "search" },
        context,
      )
      if (repetition.kind === "blocked") return repetition.result
      const search: Search = {
        place: searchPlace(root, facts.kind),
        page: { limit: Math.max(1, args.limit), offset: Math.max(0, args.offset) },
        glob: args.target === "files" ? args.pattern : args.file_glob,
        context,
      }
      const result = args.target === "files" ? await findFiles(search) : await searchContent(args, search)
      const warning =
        repetition.kind === "warned"
          ? repetition.warning
          : outsideWarning(args.path, root, { workspace: context.workspace, tracker: context.ports.files })
      if (warning === undefined) return result
      const warnings = [stringField(result.content, "_warning"), warning].filter((one) => one !== undefined)
      return { ...result, content: { ...result.content, _warning: warnings.join("; ") } }
    } catch (error) {
      return failure(`cannot search ${args.path}: ${explainSystemError(error)}`)
    }
  },
})

interface PageOf {
  readonly limit: number
  readonly offset: number
}

interface Search {
  readonly place: SearchPlace
  readonly page: PageOf
  readonly glob: string | undefined
  readonly context: ToolContext
}

async function findFiles(search: Search): Promise<ToolResult> {
  const { place, page, glob = "*", context } = search
  const rg = await context.workspace.ripgrep()
  // Messages of find would end up between the names; ripgrep has none but about its options.
  const command = rg === undefined ? `${findNames(place, glob)} 2>/dev/null` : ripgrepNames(place, glob, rg)
  const found = await runSearch(command, place, context)
  if (found.error !== undefined) return failure(found.error)
  const { names, complaint } = readNames(found.output)
  if (isRefused(found, names, complaint)) return failure(`${glob} is not a valid glob; escape special characters`)
  const named = visibleOf(names, (name) => name, search)
  const sorted = rg === undefined ? await visibleNewestFirst(named, place.directory, context) : named
  const shown = sorted.slice(page.offset, page.offset + page.limit).map((name) => shortened(name, search))
  return {
    content: { total_count: sorted.length, files: shown, ...rest(page, sorted.length, found) },
    summary: `${sorted.length} files`,
  }
}

interface ContentArguments {
  readonly pattern: string
  readonly output_mode: "content" | "files_only" | "count"
  readonly context: number
}

async function searchContent(args: ContentArguments, search: Search): Promise<ToolResult> {
  const { place, glob, context } = search
  const rg = await context.workspace.ripgrep()
  const contextLines = args.output_mode === "content" ? Math.min(Math.max(0, args.context), MAX_CONTEXT_LINES) : 0
  const query = { pattern: args.pattern, fileGlob: glob, contextLines }
  const found = await runSearch(contentCommand(args.output_mode, { place, query, rg }), place, context)
  if (found.error !== undefined) return failure(found.error)
  switch (args.output_mode) {
    case "files_only": {
      const { files, complaint } = await filesOf(found, rg, search)
      if (isRefused(found, files, complaint)) return searchFailed(complaint)
      const { limit, offset } = search.page
      const shown = files.slice(offset, offset + limit).map((path) => shortened(path, search))
      const content = { total_count: files.length, files: shown, ...rest(search.page, files.length, found) }
      return { content, summary: `${files.length} files with matches` }
    }
    case "count": {
      const counted =
        rg === undefined ? countLines(await linesOf(found, search, rg)) : visibleFiles(readCounts(found.output), search)
      if (isRefused(found, counted.files, counted.complaint)) return searchFailed(counted.complaint)
      return showCounts(counted.files, found, search)
    }
    case "content": {
      const { files, complaint } = await linesOf(found, search, rg)
      if (isRefused(found, files, complaint)) return searchFailed(complaint)
      return showMatches(files, found, search)
    }
    default:
      return assertNever(args.output_mode)
  }
}

interface ProgramQuery {
  readonly place: SearchPlace
  readonly query: ContentQuery
  readonly rg: string | undefined
}

function contentCommand(mode: ContentArguments["output_mode"], { place, query, rg }: ProgramQuery): string {
  if (rg === undefined) return grepLines(place, query)
  switch (mode) {
    case "files_only":
      return ripgrepFiles(place, query, rg)
    case "count":
      return ripgrepCounts(place, query, rg)
    case "content":
      return ripgrepLines(place, query, rg)
    default:
      return assertNever(mode)
  }
}

/** A program that ends with an error and says nothing has only met files that it may not read. */
function isRefused({ failed }: SearchRun, files: readonly unknown[], complaint: string): boolean {
  return failed && files.length === 0 && complaint !== ""
}

function searchFailed(complaint: string): ToolResult {
  return failure(ellipsize(`the search failed: ${complaint}`, MAX_COMPLAINT_CHARS))
}

type FoundLines = FoundByFile<readonly FoundLine[]>

async function linesOf({ output }: SearchRun, search: Search, rg: string | undefined): Promise<FoundLines> {
  const found = visibleFiles(readFoundLines(output), search)
  if (rg !== undefined) return found
  const names = found.files.map(([name]) => name)
  const kept = await withoutIgnored(names, search.place.directory, search.context)
  return { ...found, files: found.files.filter(([name]) => kept.has(name)) }
}

async function filesOf(
  found: SearchRun,
  rg: string | undefined,
  search: Search,
): Promise<{ readonly files: readonly string[]; readonly complaint: string }> {
  if (rg === undefined) {
    const { files, complaint } = await linesOf(found, search, rg)
    return { files: files.map(([name]) => name), complaint }
  }
  const { names, complaint } = readNames(found.output)
  return { files: visibleOf(names, (name) => name, search).toSorted(), complaint }
}

function countLines({ files, complaint }: FoundLines): FoundByFile<number> {
  return {
    files: files.map(([name, lines]) => [name, lines.filter((line) => !line.isContext).length] as const),
    complaint,
  }
}

function showCounts(files: FoundByFile<number>["files"], found: SearchRun, search: Search): ToolResult {
  const { limit, offset } = search.page
  const total = files.reduce((sum, [, count]) => sum + count, 0)
  const shown = files.slice(offset, offset + limit).map(([name, count]) => [shortened(name, search), count] as const)
  return {
    content: { total_count: total, counts: Object.fromEntries(shown), ...rest(search.page, files.length, found) },
    summary: `${total} matches in ${files.length} files`,
  }
}

function showMatches(files: FoundLines["files"], found: SearchRun, search: Search): ToolResult {
  const total = files.reduce((sum, [, lines]) => sum + lines.filter((line) => !line.isContext).length, 0)
  const matches = pageOfMatches(files, search.page).map(({ name, line, content }) => ({
    path: shortened(name, search),
    line,
    content: takeCodePoints(search.context.redact(content, { codeFile: true }), MAX_MATCH_CHARS),
  }))
  return {
    content: { total_count: total, matches, ...rest(search.page, total, found) },
    summary: `${total} matches in ${files.length} files`,
  }
}

/** The matches of a page with the lines around them; offset and limit count matches only. */
function pageOfMatches(files: FoundLines["files"], page: PageOf): readonly (FoundLine & { readonly name: string })[] {
  const shown: (FoundLine & { readonly name: string })[] = []
  let matches = 0
  for (const [name, lines] of files) {
    if (matches >= page.offset + page.limit) break
    for (const [index, line] of lines.entries()) {
      const before = matches
      if (!line.isContext) matches += 1
      const owner = line.isContext && !followsMatch(lines, index) ? before : Math.max(0, matches - 1)
      if (owner >= page.offset && owner < page.offset + page.limit) shown.push({ ...line, name })
    }
  }
  return shown
}

/** Whether a context line stands behind a match of its own block, not only in front of the next one. */
function followsMatch(lines: readonly FoundLine[], index: number): boolean {
  for (let at = index; at > 0; at -= 1) {
    const [line, previous] = [lines[at], lines[at - 1]]
    if (line === undefined || previous?.line !== line.line - 1) return false
    if (!previous.isContext) return true
  }
  return false
}

function visibleFiles<T>(found: FoundByFile<T>, search: Search): FoundByFile<T> {
  return { ...found, files: visibleOf(found.files, ([name]) => name, search) }
}

/** Without files that are not wanted after all, and without those that hold secrets. */
function visibleOf<T>(found: readonly T[], nameOf: (entry: T) => string, search: Search): readonly T[] {
  const isVisible = createVisibility(search.place, search.glob, search.context.ports.files?.places)
  return found.filter((entry) => isVisible(nameOf(entry)))
}

function shortened(name: string, { place, context }: Search): string {
  return shownPath(join(place.directory, name), context.workspace)
}

function rest(page: PageOf, total: number, { limitReason, failed }: SearchRun): Record<string, unknown> {
  const end = page.offset + page.limit
  return {
    truncated: total > end || limitReason !== undefined,
    ...(limitReason === undefined ? {} : { limit_reason: limitReason }),
    ...(total > end ? { hint: `more results: use offset ${end}` } : {}),
    ...(failed ? { _warning: "some files could not be read and were not searched" } : {}),
  }
}
