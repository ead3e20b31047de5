import { basename, dirname } from "node:path"

import type { FileFacts } from "../../exec/workspace.ts"
import { quoteForShell } from "./quote-for-shell.ts"

/** Where a search runs: below a directory, or in one file. Globs with a slash count from `directory`. */
export interface SearchPlace {
  readonly directory: string
  /** What the search program is given; begins with `.`, so that no name is taken for an option. */
  readonly target: string
  readonly oneFile: boolean
}

export function searchPlace(root: string, kind: FileFacts["kind"]): SearchPlace {
  if (kind === "directory") return { directory: root, target: ".", oneFile: false }
  return { directory: dirname(root), target: `./${basename(root)}`, oneFile: true }
}

export interface ContentQuery {
  readonly pattern: string
  readonly fileGlob: string | undefined
  readonly contextLines: number
}

/** More of a long line is not shown; a minified file would fill the whole answer. In bytes. */
const MAX_LINE_BYTES = 2500

/** Lines as `path NUL number : text`, in no order. */
export function ripgrepLines(place: SearchPlace, query: ContentQuery, rg: string): string {
  const form = `-H -n --null --no-heading --color=never --max-columns=${MAX_LINE_BYTES} --max-columns-preview`
  return ripgrep(rg, `${form}${around(query)}`, { place, query })
}

/** `path NUL` for every file with a match. */
export function ripgrepFiles(place: SearchPlace, query: ContentQuery, rg: string): string {
  return ripgrep(rg, "-l --null", { place, query })
}

/** Lines as `path NUL count`. */
export function ripgrepCounts(place: SearchPlace, query: ContentQuery, rg: string): string {
  return ripgrep(rg, "-H -c --null", { place, query })
}

function ripgrep(
  rg: string,
  form: string,
  { place, query }: { readonly place: SearchPlace; readonly query: ContentQuery },
): string {
  const glob = onlyType(query.fileGlob)
  return `${quoteForShell(rg)} --no-config --no-messages --engine=auto ${form}${glob} ${searched(place, query)}`
}

/**
 * Lines as ripgrep gives them where grep is GNU's; elsewhere, as on BusyBox, `path:number:text` in files that find has chosen.
 * Which of the two it is shows before the search, because a grep that knows the options ends with 1 on an empty file.
 */
export function grepLines(place: SearchPlace, query: ContentQuery): string {
  const include = isNameGlob(query.fileGlob) ? ` --include=${quoteForShell(query.fileGlob)}` : ""
  const what = `${around(query)} ${searched(place, query)}`
  const gnu = `grep -rHnEIs --null --exclude-dir='.?*'${include}${what}`
  const plain = `${find(place, query.fileGlob ?? "*")} -exec grep -HnEs${around(query)} -e ${quoteForShell(query.pattern)} -- {} +`
  // find does not hand on that grep could not read the expression.
  const check = `echo | grep -E -e ${quoteForShell(query.pattern)} >/dev/null; if [ $? -gt 1 ]; then exit 2; fi`
  const isGnu = "grep -I --null --exclude-dir=x x /dev/null 2>/dev/null; [ $? -eq 1 ]"
  return `${check}; if ${isGnu}; then ${gnu}; else ${plain}; fi`
}

/** Names that end in NUL, newest first. */
export function ripgrepNames(place: SearchPlace, glob: string, rg: string): string {
  const target = quoteForShell(place.target)
  return `${quoteForShell(rg)} --no-config --files --null --no-messages --sortr=modified${onlyType(glob)} ${target}`
}

/** Names that end in NUL, in no order. */
export function findNames(place: SearchPlace, glob: string): string {
  return `${find(place, glob)} -print0`
}

function find(place: SearchPlace, glob: string): string {
  const name = quoteForShell(isNameGlob(glob) ? glob : "*")
  return `find ${quoteForShell(place.target)} -type d -name '.?*' -prune -o -type f -name ${name}`
}

function searched(place: SearchPlace, { pattern }: ContentQuery): string {
  return `-e ${quoteForShell(pattern)} -- ${quoteForShell(place.target)}`
}

function around({ contextLines }: ContentQuery): string {
  return contextLines > 0 ? ` -C ${contextLines}` : ""
}

/** A file type, because a glob given with -g would bring back hidden and ignored files. */
function onlyType(glob: string | undefined): string {
  return isNameGlob(glob) ? ` --type-add ${quoteForShell(`wanted:${glob}`)} --type wanted` : ""
}

function isNameGlob(glob: string | undefined): glob is string {
  return glob !== undefined && !glob.includes("/")
}
