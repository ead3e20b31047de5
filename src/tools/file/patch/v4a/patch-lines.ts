/** The lines of a patch without what models wrap around it. */
export interface PatchLines {
  readonly lines: readonly string[]
  /** The directory of a `cd` before the patch; "" for the working directory. */
  readonly directory: string
}

/** Removes a here-document, a code fence and common indentation. What stays before the first marker is not part of the patch. */
export function patchLines(text: string): PatchLines {
  const all = text.replaceAll("\r\n", "\n").split("\n")
  const first = all.findIndex(isMarkerLine)
  if (first === -1) return { lines: [], directory: "" }
  const lead = all.slice(0, first)
  const body = withoutIndentation(withoutWrapper(all.slice(first), lead))
  return { lines: body, directory: directoryOf(lead) }
}

const MARKER = /^\s*\*\*\*\s*(?:(?:begin|start)\s+(?:of\s+)?patch|\w+\s+file\s*:|move\s+to\s*:)/i

function isMarkerLine(line: string): boolean {
  return MARKER.test(line)
}

/** Cuts off the end of a here-document or code fence that began before the patch. */
function withoutWrapper(body: readonly string[], lead: readonly string[]): readonly string[] {
  const word = lead.map((line) => HEREDOC.exec(line)?.[2]).findLast((found) => found !== undefined)
  if (word !== undefined) {
    const end = body.findIndex((line) => line.trimEnd() === word)
    return end === -1 ? body : body.slice(0, end)
  }
  const fence = lead.map((line) => FENCE.exec(line)?.[1]).findLast((found) => found !== undefined)
  const end = fence === undefined ? -1 : body.findLastIndex((line) => line.trimEnd() === fence)
  // A fence with more of the patch below it is a line of the file.
  return end === -1 || body.slice(end + 1).some((line) => PATCH_LINE.test(line)) ? body : body.slice(0, end)
}

const PATCH_LINE = /^(?:[+-]|@@| \S|\*\*\*)/

const HEREDOC = /<<-?\s*(['"]?)(\w+)\1\s*$/
const FENCE = /^\s*(`{3,}|~{3,})/

/** Removes the indentation of the first marker when all lines have it. */
function withoutIndentation(lines: readonly string[]): readonly string[] {
  const padding = /^\s*/.exec(lines[0] ?? "")?.[0] ?? ""
  if (padding === "" || !lines.every((line) => line.startsWith(padding) || line.trim() === "")) return lines
  return lines.map((line) => line.slice(padding.length))
}

/** `cd DIR && apply_patch <<'EOF'`: models that know the command change the directory in front of it. */
function directoryOf(lead: readonly string[]): string {
  const found = lead.map((line) => CHANGE_DIRECTORY.exec(line)).findLast((match) => match !== null)
  return found?.[1] ?? found?.[2] ?? found?.[3] ?? ""
}

const CHANGE_DIRECTORY = /^\s*cd\s+(?:"([^"]+)"|'([^']+)'|([^\s;&|]+))\s*&&\s*apply_?patch\b/
