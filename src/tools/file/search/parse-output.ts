import { looksBinary } from "../read/binary-file.ts"

/** A matching line, or a context line around one. */
export interface MatchLine {
  readonly line: number
  readonly content: string
  readonly isContext: boolean
}

/** Search results by file, and the error messages of the program. */
export interface FoundByFile<T> {
  readonly files: readonly (readonly [path: string, found: T])[]
  readonly errorText: string
}

/** Parses lines of ripgrep or grep. Paths stay as printed, below `.`. */
export function parseMatchLines(output: string): FoundByFile<readonly MatchLine[]> {
  const files = new Map<string, MatchLine[]>()
  const errors: string[] = []
  // Not every grep skips binary files.
  const binary = new Set<string>()
  // A name with a line feed is split over several lines; the last one has the NUL.
  let pieces = ""
  for (const text of output.split("\n")) {
    if (text === "--") continue
    const found = readLine(pieces + text)
    if (found === undefined) {
      errors.push(text)
      pieces = text.startsWith("./") ? `${text}\n` : ""
      continue
    }
    pieces = ""
    if (looksBinary(found.content)) binary.add(found.path)
    const lines = files.get(found.path)
    if (lines === undefined) files.set(found.path, [found])
    else lines.push(found)
  }
  for (const path of binary) files.delete(path)
  return { files: sortedByPath([...files]), errorText: errors.join(" ").trim() }
}

/** `path NUL number : text` or, from a grep that has no NUL, `path:number:text`; `-` instead of `:` around a match. */
function readLine(text: string): (MatchLine & { readonly path: string }) | undefined {
  const nul = text.indexOf("\0")
  const marked = nul === -1 ? null : /^(\d+)([:-])(.*)$/s.exec(text.slice(nul + 1))
  const [path, separator, line, content] =
    marked === null ? readPlainLine(text) : [text.slice(0, nul), marked[2], marked[1], marked[3]]
  if (path === undefined) return undefined
  return { path, line: Number(line), content: (content ?? "").replace(/\r$/, ""), isContext: separator === "-" }
}

function readPlainLine(text: string): readonly (string | undefined)[] {
  const [, path, sign, line, content] = /^(\.\/.*?)([:-])(\d+)\2(.*)$/s.exec(text) ?? []
  return [path, sign, line, content]
}

/** Parses NUL-terminated names. Text after the last one is an error message. */
export function parseFileNames(output: string): { readonly names: readonly string[]; readonly errorText: string } {
  const names = output.split("\0")
  const errorText = names.pop() ?? ""
  return { names, errorText: errorText.trim() }
}

/** Parses lines of `path NUL count`. */
export function parseCounts(output: string): FoundByFile<number> {
  const parts = [...output.matchAll(/([^\0]+)\0(\d+)\n/g)]
  return {
    files: sortedByPath(parts.map(([, path = "", count]) => [path, Number(count)] as const)),
    errorText: parts.length === 0 ? output.trim() : "",
  }
}

function sortedByPath<T>(files: readonly (readonly [string, T])[]): readonly (readonly [string, T])[] {
  return files.toSorted(([a], [b]) => (a < b ? -1 : 1))
}
