import { assertNever } from "../../../../base/assert-never.ts"
import { fail, ok, type Result } from "../../../../base/result.ts"
import { END_OF_FILE, parseHunks } from "./parse-hunks.ts"
import type { Hunk } from "./parse-hunks.ts"
import { patchLines } from "./patch-lines.ts"

export type PatchOperation =
  | { readonly kind: "update"; readonly path: string; readonly to?: string; readonly hunks: readonly Hunk[] }
  | { readonly kind: "add"; readonly path: string; readonly lines: readonly string[] }
  | { readonly kind: "delete"; readonly path: string }
  | { readonly kind: "move"; readonly path: string; readonly to: string }

/** All paths of an operation, for permission rules. */
export function pathsOf(operation: PatchOperation): readonly string[] {
  return "to" in operation ? [operation.path, operation.to] : [operation.path]
}

/**
 * Parses a V4A patch in the forms that models write: with or without its markers, several patches in a row, in a code fence or a here-
 * document, with padded markers. Text before the first operation and after the end marker is ignored.
 */
export function parsePatch(text: string): Result<readonly PatchOperation[]> {
  const { lines, directory } = patchLines(text)
  const operations: PatchOperation[] = []
  let open: OpenOperation | undefined
  let hasEnded = false
  const close = (): string | undefined => {
    const operation = open === undefined ? undefined : finish(open)
    open = undefined
    if (typeof operation === "string") return operation
    if (operation !== undefined) operations.push(inDirectory(operation, directory))
    return undefined
  }
  const lastEnd = lines.findLastIndex((line) => END.test(line))
  for (const [index, line] of lines.entries()) {
    const marker = readMarker(line)
    if (hasEnded && marker?.kind !== "begin") continue
    if (marker === undefined || (isContent(marker, open) && !(marker.kind === "end" && index === lastEnd))) {
      open?.body.push(line)
      continue
    }
    if (marker.kind === "move-to") {
      const problem = setTarget(open, marker)
      if (problem !== undefined) return fail(problem)
      continue
    }
    const problem = close() ?? (marker.kind === "invalid" ? marker.problem : undefined)
    if (problem !== undefined) return fail(problem)
    hasEnded = marker.kind === "end"
    if (marker.kind === "header") open = { ...marker.header, padding: marker.padding, body: [] }
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

interface OpenOperation extends Header {
  readonly padding: string
  readonly body: string[]
  to?: string
}

type Marker = { readonly padding: string } & (
  | { readonly kind: "begin" | "end" }
  | { readonly kind: "header"; readonly header: Header }
  | { readonly kind: "move-to"; readonly path: string }
  | { readonly kind: "invalid"; readonly problem: string }
)

const BEGIN = /^\s*\*\*\*\s*(?:begin|start)\s+(?:of\s+)?patch\s*(?:\*\*\*)?\s*$/i
const END = /^\s*\*\*\*\s*end\s+(?:of\s+)?patch\s*(?:\*\*\*)?\s*$/i
const HEADER = /^\s*\*\*\*\s*(\w+)\s+(file|to)\s*:\s*(.*?)(?:\s+\*\*\*)?\s*$/i

function readMarker(line: string): Marker | undefined {
  const padding = /^\s*/.exec(line)?.[0] ?? ""
  if (BEGIN.test(line)) return { kind: "begin", padding }
  if (END.test(line)) return { kind: "end", padding }
  const found = HEADER.exec(line)
  if (found === null) return undefined
  const [, word = "", what = "", path = ""] = found
  const isMoveTo = what.toLowerCase() === "to" && word.toLowerCase() === "move"
  const kind = what.toLowerCase() === "file" ? KINDS[word.toLowerCase()] : undefined
  if (kind === undefined && !isMoveTo) {
    const problem = `${line.trim()}: not an operation; use Update File, Add File, Delete File or Move File: a -> b`
    return { kind: "invalid", padding, problem }
  }
  if (path === "") return { kind: "invalid", padding, problem: `${line.trim()}: the path is missing` }
  return kind === undefined ? { kind: "move-to", padding, path } : { kind: "header", padding, header: { kind, path } }
}

const KINDS: Readonly<Record<string, PatchOperation["kind"]>> = {
  update: "update",
  add: "add",
  delete: "delete",
  move: "move",
}

/**
 * An indented marker below a header without that indentation may be a line of the file: a patch of a text about patches must not delete
 * the files that the text mentions.
 */
function isContent({ kind, padding }: Marker, open: OpenOperation | undefined): boolean {
  if (open === undefined || padding === "" || padding === open.padding) return false
  switch (open.kind) {
    case "update":
      if (open.body.some((line) => line.trim() !== "")) return true
      return kind !== "move-to" && open.to === undefined
    case "add":
      return open.body.some((line) => line !== "" && !line.startsWith("+"))
    case "delete":
    case "move":
      return false
    default:
      return assertNever(open.kind)
  }
}

/** OpenAI's form of a move: a line below the update. */
function setTarget(open: OpenOperation | undefined, { path }: { readonly path: string }): string | undefined {
  if (open?.kind !== "update") return `*** Move to: ${path}: not an operation; it belongs below an *** Update File line`
  if (open.to !== undefined) return `UPDATE '${open.path}': two *** Move to lines`
  open.to = path
  return undefined
}

function finish({ kind, path, to, body, padding }: OpenOperation): PatchOperation | string {
  switch (kind) {
    case "update": {
      const hunks = parseHunks(body, padding)
      if (to === undefined) return hunks.length === 0 ? `UPDATE '${path}': no hunks found` : { kind, path, hunks }
      return hunks.length === 0 ? { kind: "move", path, to } : { kind, path, to, hunks }
    }
    case "add":
      return { kind, path, lines: readNewLines(body) }
    case "delete":
      return { kind, path }
    case "move": {
      const [from = "", target = "", ...more] = path.split(" -> ").map((part) => part.trim())
      if (from === "" || target === "" || more.length > 0)
        return `MOVE '${path}': write it as *** Move File: from -> to`
      return { kind, path: from, to: target }
    }
    default:
      return assertNever(kind)
  }
}

/** Lines of a new file; lines without a plus sign are kept too. */
function readNewLines(body: readonly string[]): readonly string[] {
  const lines = body.filter((line) => !line.startsWith("\\ ") && !END_OF_FILE.test(line))
  const start = lines.findIndex((line) => line !== "")
  // A separator of hunks in front of lines with plus signs is not a line of the file.
  const isSeparated = (lines[start] ?? "").startsWith("@@") && (lines[start + 1] ?? "").startsWith("+")
  const own = isSeparated ? lines.slice(start + 1) : lines
  const last = own.findLastIndex((line) => line !== "")
  return own.slice(0, last + 1).map((line) => (line.startsWith("+") ? line.slice(1) : line))
}

function inDirectory(operation: PatchOperation, directory: string): PatchOperation {
  if (directory === "") return operation
  const inside = (path: string): string => (/^[/~]/.test(path) ? path : `${directory.replace(/\/+$/, "")}/${path}`)
  const path = inside(operation.path)
  return "to" in operation ? { ...operation, path, to: inside(operation.to) } : { ...operation, path }
}
