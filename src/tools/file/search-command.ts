import { basename, dirname, isAbsolute, join, posix } from "node:path"

import { isRecord, parseJson } from "../../base/json.ts"
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

export interface FoundLine {
  readonly path: string
  readonly line: number
  readonly content: string
  /** A line around a match, not one itself. */
  readonly isContext: boolean
}

export function contentCommand(place: SearchPlace, query: ContentQuery, rg: string | undefined): string {
  const around = query.contextLines > 0 ? ` -C ${query.contextLines}` : ""
  const what = `-e ${quoteForShell(query.pattern)} -- ${quoteForShell(place.target)}`
  if (rg !== undefined) {
    return `${quoteForShell(rg)} --no-config --json --no-messages --engine=auto${onlyType(query.fileGlob)}${around} ${what}`
  }
  const include = isNameGlob(query.fileGlob) ? ` --include=${quoteForShell(query.fileGlob)}` : ""
  return `grep -rHnEI --null --exclude-dir='.?*'${include}${around} ${what}`
}

export function filesCommand(place: SearchPlace, glob: string, rg: string | undefined): string {
  const target = quoteForShell(place.target)
  if (rg !== undefined) {
    return `${quoteForShell(rg)} --no-config --files --null --no-messages${onlyType(glob)} ${target}`
  }
  const name = quoteForShell(isNameGlob(glob) ? glob : "*")
  return `find ${target} -type d -name '.?*' -prune -o -type f -name ${name} -print0`
}

/** A file type, because a glob given with -g would bring back hidden and ignored files. */
function onlyType(glob: string | undefined): string {
  return isNameGlob(glob) ? ` --type-add ${quoteForShell(`wanted:${glob}`)} --type wanted` : ""
}

function isNameGlob(glob: string | undefined): glob is string {
  return glob !== undefined && !glob.includes("/")
}

/** What the search programs cannot tell by themselves: globs with a directory in them, and hidden files that a type brought in. */
export function isWanted(path: string, place: SearchPlace, glob: string | undefined): boolean {
  if (place.oneFile) return true
  const local = posix.relative(place.directory, path)
  const asksForHidden = glob !== undefined && basename(glob).startsWith(".")
  const visible = asksForHidden ? dirname(local) : local
  if (visible.split("/").some((part) => part.startsWith(".") && part !== ".")) return false
  if (glob?.includes("/") !== true) return true
  return posix.matchesGlob(isAbsolute(glob) ? path : local, glob.replace(/^\.\//, ""))
}

/** The lines of a search in the order of their files, and what the program had to complain about. */
export function readLines(
  output: string,
  place: SearchPlace,
  rg: string | undefined,
): { readonly lines: readonly FoundLine[]; readonly complaint: string } {
  const read = rg === undefined ? readGrepLine : readRipgrepLine
  const lines: FoundLine[] = []
  const complaints: string[] = []
  for (const text of output.split("\n")) {
    const line = read(text)
    if (line === undefined) complaints.push(text.trim())
    else if (line !== "nothing") lines.push({ ...line, path: join(place.directory, line.path) })
  }
  return {
    lines: lines.toSorted((a, b) => (a.path === b.path ? a.line - b.line : a.path < b.path ? -1 : 1)),
    complaint: complaints.filter((text) => text !== "").join(" "),
  }
}

/** One JSON object per line; a line that is none is a message. */
function readRipgrepLine(text: string): FoundLine | "nothing" | undefined {
  const event = parseJson(text)
  if (!isRecord(event) || !isRecord(event["data"])) return undefined
  if (event["type"] !== "match" && event["type"] !== "context") return "nothing"
  const { path, lines, line_number: line } = event["data"]
  const file = textOf(path)
  if (file === undefined || typeof line !== "number") return "nothing"
  const content = (textOf(lines) ?? "").replace(/\r?\n$/, "")
  return { path: file, line, content, isContext: event["type"] === "context" }
}

/** ripgrep writes what is not UTF-8 in base64. */
function textOf(value: unknown): string | undefined {
  if (!isRecord(value)) return undefined
  if (typeof value["text"] === "string") return value["text"]
  return typeof value["bytes"] === "string" ? Buffer.from(value["bytes"], "base64").toString("utf8") : undefined
}

function readGrepLine(text: string): FoundLine | "nothing" | undefined {
  if (text === "--") return "nothing"
  const nul = text.indexOf("\0")
  const found = nul === -1 ? null : /^(\d+)([:-])(.*)$/s.exec(text.slice(nul + 1))
  if (found === null) return undefined
  const [, line = "", kind = "", content = ""] = found
  return { path: text.slice(0, nul), line: Number(line), content: content.replace(/\r$/, ""), isContext: kind === "-" }
}
