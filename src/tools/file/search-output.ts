import { looksBinary } from "./binary.ts"

/** A line that a search has found, or one around it. */
export interface FoundLine {
  readonly line: number
  readonly content: string
  readonly isContext: boolean
}

/** What a search has found, by file, and what the program had to complain about. */
export interface FoundByFile<T> {
  readonly files: readonly (readonly [path: string, found: T])[]
  readonly complaint: string
}

/** Lines of ripgrep or grep. Paths are as the program wrote them, below `.`. */
export function readFoundLines(output: string): FoundByFile<readonly FoundLine[]> {
  const files = new Map<string, FoundLine[]>()
  const complaints: string[] = []
  // Not every grep passes over these by itself.
  const binary = new Set<string>()
  // A name with a line feed in it comes in pieces; the last one has the NUL.
  let pieces = ""
  for (const text of output.split("\n")) {
    if (text === "--") continue
    const found = readLine(pieces + text)
    if (found === undefined) {
      complaints.push(text)
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
  return { files: sortedByPath([...files]), complaint: complaints.join(" ").trim() }
}

/** `path NUL number : text` or, from a grep that has no NUL, `path:number:text`; `-` instead of `:` around a match. */
function readLine(text: string): (FoundLine & { readonly path: string }) | undefined {
  const nul = text.indexOf("\0")
  const marked = nul === -1 ? null : /^(\d+)([:-])(.*)$/s.exec(text.slice(nul + 1))
  const [path, sign, line, content] =
    marked === null ? readPlainLine(text) : [text.slice(0, nul), marked[2], marked[1], marked[3]]
  if (path === undefined) return undefined
  return { path, line: Number(line), content: (content ?? "").replace(/\r$/, ""), isContext: sign === "-" }
}

function readPlainLine(text: string): readonly (string | undefined)[] {
  const [, path, sign, line, content] = /^(\.\/.*?)([:-])(\d+)\2(.*)$/s.exec(text) ?? []
  return [path, sign, line, content]
}

/** Names that end in NUL. What stands behind the last one is a message. */
export function readNames(output: string): { readonly names: readonly string[]; readonly complaint: string } {
  const names = output.split("\0")
  const complaint = names.pop() ?? ""
  return { names, complaint: complaint.trim() }
}

/** Lines of `path NUL count`. */
export function readCounts(output: string): FoundByFile<number> {
  const parts = [...output.matchAll(/([^\0]+)\0(\d+)\n/g)]
  return {
    files: sortedByPath(parts.map(([, path = "", count]) => [path, Number(count)] as const)),
    complaint: parts.length === 0 ? output.trim() : "",
  }
}

function sortedByPath<T>(files: readonly (readonly [string, T])[]): readonly (readonly [string, T])[] {
  return files.toSorted(([a], [b]) => (a < b ? -1 : 1))
}
