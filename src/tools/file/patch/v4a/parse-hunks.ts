/** One line of a hunk, without its prefix. */
export interface HunkLine {
  readonly kind: "context" | "removed" | "added"
  readonly text: string
}

export interface Hunk {
  /** Lines above the change, from the outside in: a class, then its method. */
  readonly hints: readonly string[]
  readonly lines: readonly HunkLine[]
  /** Its separator has line numbers, as in a unified diff. They are not used. */
  readonly isNumbered: boolean
  /** The change is at the end of the file. */
  readonly atEndOfFile: boolean
}

/** Parses the lines below an update header. `padding` is the indentation of that header. */
export function parseHunks(body: readonly string[], padding: string): readonly Hunk[] {
  const hunks: { hints: string[]; lines: HunkLine[]; isNumbered: boolean; atEndOfFile: boolean }[] = []
  for (const line of withoutFileNames(body)) {
    const separator = readSeparator(line, { padding, opensHunk: (hunks.at(-1)?.lines.length ?? 0) === 0 })
    const last = hunks.at(-1)
    if (separator !== undefined) {
      const { hints, isNumbered } = separator
      // Separators without lines between them name nested scopes.
      if (last !== undefined && last.lines.length === 0) last.hints.push(...hints)
      else hunks.push({ hints: [...hints], lines: [], isNumbered, atEndOfFile: false })
      continue
    }
    if (END_OF_FILE.test(line)) {
      if (last !== undefined) last.atEndOfFile = true
      continue
    }
    const read = readHunkLine(line)
    if (read === undefined) continue
    if (last === undefined || last.atEndOfFile)
      hunks.push({ hints: [], lines: [read], isNumbered: false, atEndOfFile: false })
    else last.lines.push(read)
  }
  return hunks.map((hunk) => ({ ...hunk, lines: withoutBlankEnd(hunk.lines) })).filter(({ lines }) => lines.length > 0)
}

export const END_OF_FILE = /^\s*\*\*\*\s*end\s+of\s+file\s*(?:\*\*\*)?\s*$/i

/** `--- a/f` and `+++ b/f` in front of a hunk come from a unified diff and change nothing. */
function withoutFileNames(body: readonly string[]): readonly string[] {
  const first = body.findIndex((line) => line.trim() !== "")
  const isDiffHeader =
    /^--- \S/.test(body[first] ?? "") &&
    /^\+\+\+ \S/.test(body[first + 1] ?? "") &&
    (body[first + 2] ?? "").startsWith("@@")
  return isDiffHeader ? body.slice(first + 2) : body
}

/** The hints of a line that separates hunks; undefined for other lines. An indented one is context, unless its header is indented too. */
function readSeparator(
  line: string,
  { padding, opensHunk }: { readonly padding: string; readonly opensHunk: boolean },
): Separator | undefined {
  const found = /^(\s*)@@(.*)$/.exec(line)
  if (found === null) return undefined
  const [, indent = "", rest = ""] = found
  const isIndented = indent !== "" && indent !== padding
  if (isIndented && (!opensHunk || !/^(?:\s|$)/.test(rest))) return undefined
  return { hints: readHints(rest), isNumbered: LINE_NUMBERS.test(rest) }
}

interface Separator {
  readonly hints: readonly string[]
  readonly isNumbered: boolean
}

const LINE_NUMBERS = /^\s*-\d+(?:,\d+)? \+\d+(?:,\d+)?(?=\s|@|$)/

/** Ignores line numbers such as `-3,7 +3,8`, which may be outdated; only the text after them is a hint. */
function readHints(text: string): readonly string[] {
  return text
    .replace(LINE_NUMBERS, "")
    .replace(/\s*@@\s*$/, "")
    .split(/(?:^|\s)@@(?=\s)/)
    .map((hint) => hint.trim())
    .filter((hint) => hint !== "")
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
