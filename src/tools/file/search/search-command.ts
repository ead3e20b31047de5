import { basename, dirname } from "node:path"

import type { FileFacts } from "../../../exec/workspace.ts"
import { quoteForShell } from "../../../base/quote-for-shell.ts"

/** What to search: a directory or one file. Globs with a slash are relative to `directory`. */
export interface SearchScope {
  readonly directory: string
  /** The argument for the search program; begins with `.`, so that no name is parsed as an option. */
  readonly target: string
  readonly oneFile: boolean
}

export function searchScope(root: string, kind: FileFacts["kind"]): SearchScope {
  if (kind === "directory") return { directory: root, target: ".", oneFile: false }
  return { directory: dirname(root), target: `./${basename(root)}`, oneFile: true }
}

export interface ContentQuery {
  readonly pattern: string
  readonly fileGlob: string | undefined
  readonly contextLines: number
}

/** Longer lines are cut, because a minified file would fill the whole result. */
const MAX_LINE_BYTES = 2500

/** Prints lines as `path NUL number : text`, unordered. */
export function ripgrepLines(scope: SearchScope, query: ContentQuery, rg: string): string {
  const form = `-H -n --null --no-heading --color=never --max-columns=${MAX_LINE_BYTES} --max-columns-preview`
  return ripgrep(rg, `${form}${contextOption(query)}`, { scope, query })
}

/** Prints `path NUL` for every file with a match. */
export function ripgrepFiles(scope: SearchScope, query: ContentQuery, rg: string): string {
  return ripgrep(rg, "-l --null", { scope, query })
}

/** Prints lines as `path NUL count`. */
export function ripgrepCounts(scope: SearchScope, query: ContentQuery, rg: string): string {
  return ripgrep(rg, "-H -c --null", { scope, query })
}

function ripgrep(
  rg: string,
  form: string,
  { scope, query }: { readonly scope: SearchScope; readonly query: ContentQuery },
): string {
  const glob = typeOption(query.fileGlob)
  return `${quoteForShell(rg)} --no-config --no-messages --engine=auto ${form}${glob} ${patternAndTarget(scope, query)}`
}

/**
 * Prints lines like ripgrep with GNU grep; otherwise, as on BusyBox, `path:number:text` for files that find selects. GNU grep is
 * detected by its exit code 1 on an empty file, with options that other greps refuse.
 */
export function grepLines(scope: SearchScope, query: ContentQuery): string {
  const include = isNameGlob(query.fileGlob) ? ` --include=${quoteForShell(query.fileGlob)}` : ""
  const what = `${contextOption(query)} ${patternAndTarget(scope, query)}`
  const gnu = `grep -rHnEIs --null --exclude-dir='.?*'${include}${what}`
  const plain = `${find(scope, query.fileGlob ?? "*")} -exec grep -HnEs${contextOption(query)} -e ${quoteForShell(query.pattern)} -- {} +`
  // find does not report that grep could not parse the expression.
  const check = `echo | grep -E -e ${quoteForShell(query.pattern)} >/dev/null; if [ $? -gt 1 ]; then exit 2; fi`
  const isGnu = "grep -I --null --exclude-dir=x x /dev/null 2>/dev/null; [ $? -eq 1 ]"
  return `${check}; if ${isGnu}; then ${gnu}; else ${plain}; fi`
}

/** Prints NUL-terminated names, newest first. */
export function ripgrepNames(scope: SearchScope, glob: string, rg: string): string {
  const target = quoteForShell(scope.target)
  return `${quoteForShell(rg)} --no-config --files --null --no-messages --sortr=modified${typeOption(glob)} ${target}`
}

/** Prints NUL-terminated names, unordered. */
export function findNames(scope: SearchScope, glob: string): string {
  return `${find(scope, glob)} -print0`
}

function find(scope: SearchScope, glob: string): string {
  const name = quoteForShell(isNameGlob(glob) ? glob : "*")
  return `find ${quoteForShell(scope.target)} -type d -name '.?*' -prune -o -type f -name ${name}`
}

function patternAndTarget(scope: SearchScope, { pattern }: ContentQuery): string {
  return `-e ${quoteForShell(pattern)} -- ${quoteForShell(scope.target)}`
}

function contextOption({ contextLines }: ContentQuery): string {
  return contextLines > 0 ? ` -C ${contextLines}` : ""
}

/** Uses a file type, because a glob with -g would include hidden and ignored files. */
function typeOption(glob: string | undefined): string {
  return isNameGlob(glob) ? ` --type-add ${quoteForShell(`searched:${glob}`)} --type searched` : ""
}

function isNameGlob(glob: string | undefined): glob is string {
  return glob !== undefined && !glob.includes("/")
}
