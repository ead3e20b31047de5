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
import { refusedDevice } from "./paths/refused-path.ts"
import { checkRepetition } from "./tracking/repeated-call.ts"
import {
  findNames,
  grepLines,
  ripgrepCounts,
  ripgrepFiles,
  ripgrepLines,
  ripgrepNames,
  searchScope,
} from "./search/search-command.ts"
import type { ContentQuery, SearchScope } from "./search/search-command.ts"
import { visibleNewestFirst, excludeIgnored } from "./search/grep-fallback.ts"
import { parseCounts, parseMatchLines, parseFileNames } from "./search/parse-output.ts"
import type { FoundByFile, MatchLine } from "./search/parse-output.ts"
import { runSearch } from "./search/run-search.ts"
import type { SearchRun } from "./search/run-search.ts"
import { confirmMatches, confirmNames } from "./search/confirm-results.ts"
import type { NamedMatch } from "./search/confirm-results.ts"
import { createVisibilityFilter } from "./search/visibility-filter.ts"
import { outsideRootWarning, displayPath } from "./paths/display-path.ts"
import { similarFiles } from "./paths/similar-names.ts"
import { counted } from "../../base/counted.ts"

const MAX_MATCH_CHARS = 500
const MAX_CONTEXT_LINES = 20
const MAX_ERROR_CHARS = 500

const whole = (fallback: number) => z.int().default(fallback).catch(fallback)

export const searchFiles = defineTool({
  name: "search_files",
  claudeCode: { name: "Grep" },
  toolset: "file",
  inScripts: true,
  scripts: { returns: "matches [{path, line, content}] or files", alias: "search" },
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
  declarationRank: 5,
  lean: true,
  access: "read",
  subject: ({ path }) => ({ kind: "path", path }),
  label: { emoji: "🔎", verb: "grep" },
  preview: ({ pattern, path }) => `${pattern} in ${path}`,
  parallel: "safe",
  idempotent: true,
  countsRepeats: true,
  provenance: "file",
  role: "file-search",
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
      const repetition = checkRepetition(
        { signature: `search ${JSON.stringify({ ...args, root })}`, what: "search" },
        context,
      )
      if (repetition.kind === "blocked") return repetition.result
      const search: Search = {
        scope: searchScope(root, facts.kind),
        page: { limit: Math.max(1, args.limit), offset: Math.max(0, args.offset) },
        glob: args.target === "files" ? args.pattern : args.file_glob,
        context,
      }
      const result = args.target === "files" ? await findFiles(search) : await searchContent(args, search)
      const warning =
        repetition.kind === "warned"
          ? repetition.warning
          : outsideRootWarning(args.path, root, { workspace: context.workspace, tracker: context.ports.files })
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
  readonly scope: SearchScope
  readonly page: PageOf
  readonly glob: string | undefined
  readonly context: ToolContext
}

async function findFiles(search: Search): Promise<ToolResult> {
  const { scope, page, glob = "*", context } = search
  const rg = await context.workspace.ripgrep()
  // Error messages of find would be mixed with the names; ripgrep prints only those about its options.
  const command = rg === undefined ? `${findNames(scope, glob)} 2>/dev/null` : ripgrepNames(scope, glob, rg)
  const found = await runSearch(command, scope, context)
  if (found.error !== undefined) return failure(found.error)
  const { names, errorText } = parseFileNames(found.output)
  if (hasFailed(found, names, errorText)) return failure(`${glob} is not a valid glob; escape special characters`)
  const named = visibleOf(names, (name) => name, search)
  const sorted = rg === undefined ? await visibleNewestFirst(named, scope.directory, context) : named
  const shown = await confirmNames(sorted.slice(page.offset, page.offset + page.limit), scope, context)
  const files = shown.map((name) => displayName(name, search))
  return {
    content: { total_count: sorted.length, files, ...pagingFields(page, sorted.length, found) },
    summary: counted(sorted.length, "file"),
  }
}

interface ContentArguments {
  readonly pattern: string
  readonly output_mode: "content" | "files_only" | "count"
  readonly context: number
}

async function searchContent(args: ContentArguments, search: Search): Promise<ToolResult> {
  const { scope, glob, context } = search
  const rg = await context.workspace.ripgrep()
  const contextLines = args.output_mode === "content" ? Math.min(Math.max(0, args.context), MAX_CONTEXT_LINES) : 0
  const query = { pattern: args.pattern, fileGlob: glob, contextLines }
  const found = await runSearch(contentCommand(args.output_mode, { scope, query, rg }), scope, context)
  if (found.error !== undefined) return failure(found.error)
  switch (args.output_mode) {
    case "files_only": {
      const { files, errorText } = await filesOf(found, rg, search)
      if (hasFailed(found, files, errorText)) return searchFailed(errorText)
      const { limit, offset } = search.page
      const confirmed = await confirmNames(files.slice(offset, offset + limit), scope, context)
      const shown = confirmed.map((path) => displayName(path, search))
      const content = { total_count: files.length, files: shown, ...pagingFields(search.page, files.length, found) }
      return { content, summary: `${counted(files.length, "file")} with matches` }
    }
    case "count": {
      const counted =
        rg === undefined
          ? countLines(await linesOf(found, search, rg))
          : visibleFiles(parseCounts(found.output), search)
      if (hasFailed(found, counted.files, counted.errorText)) return searchFailed(counted.errorText)
      return await showCounts(counted.files, found, search)
    }
    case "content": {
      const { files, errorText } = await linesOf(found, search, rg)
      if (hasFailed(found, files, errorText)) return searchFailed(errorText)
      return await showMatches(files, found, search)
    }
    default:
      return assertNever(args.output_mode)
  }
}

interface ProgramQuery {
  readonly scope: SearchScope
  readonly query: ContentQuery
  readonly rg: string | undefined
}

function contentCommand(mode: ContentArguments["output_mode"], { scope, query, rg }: ProgramQuery): string {
  if (rg === undefined) return grepLines(scope, query)
  switch (mode) {
    case "files_only":
      return ripgrepFiles(scope, query, rg)
    case "count":
      return ripgrepCounts(scope, query, rg)
    case "content":
      return ripgrepLines(scope, query, rg)
    default:
      return assertNever(mode)
  }
}

/** A program that fails without a message has only found unreadable files. */
function hasFailed({ failed }: SearchRun, files: readonly unknown[], errorText: string): boolean {
  return failed && files.length === 0 && errorText !== ""
}

function searchFailed(errorText: string): ToolResult {
  return failure(ellipsize(`the search failed: ${errorText}`, MAX_ERROR_CHARS))
}

type FoundLines = FoundByFile<readonly MatchLine[]>

async function linesOf({ output }: SearchRun, search: Search, rg: string | undefined): Promise<FoundLines> {
  const found = visibleFiles(parseMatchLines(output), search)
  if (rg !== undefined) return found
  const names = found.files.map(([name]) => name)
  const kept = await excludeIgnored(names, search.scope.directory, search.context)
  return { ...found, files: found.files.filter(([name]) => kept.has(name)) }
}

async function filesOf(
  found: SearchRun,
  rg: string | undefined,
  search: Search,
): Promise<{ readonly files: readonly string[]; readonly errorText: string }> {
  if (rg === undefined) {
    const { files, errorText } = await linesOf(found, search, rg)
    return { files: files.map(([name]) => name), errorText }
  }
  const { names, errorText } = parseFileNames(found.output)
  return { files: visibleOf(names, (name) => name, search).toSorted(), errorText }
}

function countLines({ files, errorText }: FoundLines): FoundByFile<number> {
  return {
    files: files.map(([name, lines]) => [name, lines.filter((line) => !line.isContext).length] as const),
    errorText,
  }
}

async function showCounts(files: FoundByFile<number>["files"], found: SearchRun, search: Search): Promise<ToolResult> {
  const { limit, offset } = search.page
  const total = files.reduce((sum, [, count]) => sum + count, 0)
  const page = files.slice(offset, offset + limit)
  const names = page.map(([name]) => name)
  const confirmed = new Set(await confirmNames(names, search.scope, search.context))
  const shown = page.flatMap(([name, count]) =>
    confirmed.has(name) ? [[displayName(name, search), count] as const] : [],
  )
  return {
    content: {
      total_count: total,
      counts: Object.fromEntries(shown),
      ...pagingFields(search.page, files.length, found),
    },
    summary: `${total} ${total === 1 ? "match" : "matches"} in ${counted(files.length, "file")}`,
  }
}

async function showMatches(files: FoundLines["files"], found: SearchRun, search: Search): Promise<ToolResult> {
  const total = files.reduce((sum, [, lines]) => sum + lines.filter((line) => !line.isContext).length, 0)
  const confirmed = await confirmMatches(pageOfMatches(files, search.page), search.scope, search.context)
  const matches = confirmed.map(({ name, line, content }) => ({
    path: displayName(name, search),
    line,
    content: takeCodePoints(search.context.redact(content, { codeFile: true }), MAX_MATCH_CHARS),
  }))
  return {
    content: { total_count: total, matches, ...pagingFields(search.page, total, found) },
    summary: `${total} ${total === 1 ? "match" : "matches"} in ${counted(files.length, "file")}`,
  }
}

/** The matches of a page with the lines around them; offset and limit count matches only. */
function pageOfMatches(files: FoundLines["files"], page: PageOf): readonly NamedMatch[] {
  const shown: NamedMatch[] = []
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

/** Whether a context line follows a match of its block, instead of only preceding the next one. */
function followsMatch(lines: readonly MatchLine[], index: number): boolean {
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

/** Removes files that the filter hides, such as files with secrets. */
function visibleOf<T>(found: readonly T[], nameOf: (entry: T) => string, search: Search): readonly T[] {
  const isVisible = createVisibilityFilter(search.scope, search.glob, search.context.ports.files?.directories)
  return found.filter((entry) => isVisible(nameOf(entry)))
}

function displayName(name: string, { scope, context }: Search): string {
  return displayPath(join(scope.directory, name), context.workspace)
}

function pagingFields(page: PageOf, total: number, { limitReason, failed }: SearchRun): Record<string, unknown> {
  const end = page.offset + page.limit
  return {
    truncated: total > end || limitReason !== undefined,
    ...(limitReason === undefined ? {} : { limit_reason: limitReason }),
    ...(total > end ? { hint: `more results: use offset ${end}` } : {}),
    ...(failed ? { _warning: "some files could not be read and were not searched" } : {}),
  }
}
