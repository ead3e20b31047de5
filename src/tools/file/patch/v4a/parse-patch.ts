import { assertNever } from "../../../../base/assert-never.ts"
import { fail, ok, type Result } from "../../../../base/result.ts"

/** One line of a hunk, without its prefix. */
export interface HunkLine {
  readonly kind: "context" | "removed" | "added"
  readonly text: string
}

export interface Hunk {
  /** A line near the change, "" when there is none. */
  readonly hint: string
  readonly lines: readonly HunkLine[]
}

export type PatchOperation =
  | { readonly kind: "update"; readonly path: string; readonly hunks: readonly Hunk[] }
  | { readonly kind: "add"; readonly path: string; readonly lines: readonly string[] }
  | { readonly kind: "delete"; readonly path: string }
  | { readonly kind: "move"; readonly path: string; readonly to: string }

/** All paths of an operation, for permission rules. */
export function pathsOf(operation: PatchOperation): readonly string[] {
  return operation.kind === "move" ? [operation.path, operation.to] : [operation.path]
}

/** Parses a V4A patch. Text before the first operation and after the end marker is ignored. */
export function parsePatch(text: string): Result<readonly PatchOperation[]> {
  const operations: PatchOperation[] = []
  let body: string[] = []
  let open: Header | undefined
  const close = (): string | undefined => {
    if (open === undefined) return undefined
    const operation = finish(open, body)
    body = []
    open = undefined
    if (typeof operation === "string") return operation
    operations.push(operation)
    return undefined
  }
  for (const line of text.replaceAll("\r\n", "\n").split("\n")) {
    if (/^\*\*\* Begin Patch\s*$/.test(line)) continue
    const ends = /^\*\*\* End Patch\s*$/.test(line)
    const header = ends ? undefined : readHeader(line)
    if (typeof header === "string") return fail(header)
    if (header === undefined && !ends) {
      if (open !== undefined) body.push(line)
      continue
    }
    const problem = close()
    if (problem !== undefined) return fail(problem)
    if (ends) break
    open = header
  }
  const problem = close()
  if (problem !== undefined) return fail(problem)
  return operations.length === 0
    ? fail("no operations: the patch needs *** Update File, *** Add File, *** Delete File or *** Move File lines")
    : ok(operations)
}

interface Header {
  readonly kind: PatchOperation["kind"]
  readonly path: string
}

/** The operation header on a line, an error message for an invalid header, undefined for other lines. */
function readHeader(line: string): Header | string | undefined {
  const found = /^\*\*\*\s*(\w+)\s+(?:File|to):\s*(.*)$/.exec(line)
  if (found === null) return undefined
  const [, word = "", path = ""] = found
  const kind = KINDS[word.toLowerCase()]
  if (kind === undefined || /^\*\*\*\s*\w+\s+to:/.test(line)) {
    return `${line.trim()}: not an operation; use Update File, Add File, Delete File or Move File: a -> b`
  }
  return path.trim() === "" ? `${line.trim()}: the path is missing` : { kind, path: path.trim() }
}

const KINDS: Readonly<Record<string, PatchOperation["kind"]>> = {
  update: "update",
  add: "add",
  delete: "delete",
  move: "move",
}

function finish({ kind, path }: Header, body: readonly string[]): PatchOperation | string {
  switch (kind) {
    case "update": {
      const hunks = readHunks(body)
      return hunks.length === 0 ? `UPDATE '${path}': no hunks found` : { kind, path, hunks }
    }
    case "add":
      return { kind, path, lines: readNewLines(body) }
    case "delete":
      return { kind, path }
    case "move": {
      const [from = "", to = "", ...more] = path.split(" -> ").map((part) => part.trim())
      if (from === "" || to === "" || more.length > 0) return `MOVE '${path}': write it as *** Move File: from -> to`
      return { kind, path: from, to }
    }
    default:
      return assertNever(kind)
  }
}

function readHunks(body: readonly string[]): readonly Hunk[] {
  const hunks: { hint: string; lines: HunkLine[] }[] = []
  for (const line of body) {
    if (/^\*\*\* End of File\s*$/.test(line)) continue
    const separator = /^@@(.*)$/.exec(line)
    if (separator !== null) {
      hunks.push({ hint: readHint(separator[1] ?? ""), lines: [] })
      continue
    }
    const read = readHunkLine(line)
    if (read === undefined) continue
    if (hunks.length === 0) hunks.push({ hint: "", lines: [] })
    hunks.at(-1)?.lines.push(read)
  }
  return hunks
    .map((hunk) => ({ hint: hunk.hint, lines: withoutBlankEnd(hunk.lines) }))
    .filter(({ lines }) => lines.length > 0)
}

/** Ignores line numbers such as `-3,7 +3,8`, which may be outdated; only the text after them is a hint. */
function readHint(text: string): string {
  return text
    .replace(/^\s*-\d+(?:,\d+)? \+\d+(?:,\d+)?(?=\s|@)/, "")
    .replace(/@@\s*$/, "")
    .replace(/^\s*@@/, "")
    .trim()
}

function readHunkLine(line: string): HunkLine | undefined {
  switch (line[0]) {
    case "+":
      return { kind: "added", text: line.slice(1) }
    case "-":
      return { kind: "removed", text: line.slice(1) }
    case " ":
      return { kind: "context", text: line.slice(1) }
    case "\\":
      return undefined
    default:
      return { kind: "context", text: line }
  }
}

/** Removes empty lines before the next header, which only format the patch and would not match as context. */
function withoutBlankEnd(lines: readonly HunkLine[]): readonly HunkLine[] {
  const last = lines.findLastIndex(({ kind, text }) => kind !== "context" || text !== "")
  return lines.slice(0, last + 1)
}

/** Lines of a new file; lines without a plus sign are kept too. */
function readNewLines(body: readonly string[]): readonly string[] {
  const last = body.findLastIndex((line) => line !== "")
  return body
    .slice(0, last + 1)
    .filter((line) => !line.startsWith("\\ "))
    .map((line) => (line.startsWith("+") ? line.slice(1) : line))
}
