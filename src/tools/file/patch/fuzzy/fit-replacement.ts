import { fail, ok, type Result } from "../../../../base/result.ts"
import { unescapeControls } from "./strategies.ts"
import type { StrategyName } from "./strategies.ts"

export interface MatchedReplacement {
  readonly strategy: StrategyName
  /** The replaced text, with LF line endings and as stored in the file. */
  readonly region: string
  readonly stored: string
  readonly old: string
  readonly replacement: string
}

/** Adapts the new text to the indentation and escapes of the match, or refuses it. */
export function fitReplacement(match: MatchedReplacement): Result<string> {
  const { strategy, region } = match
  const written = withRealIndentation(match)
  if (strategy === "exact") return ok(written)
  const drift = DOUBTFUL_ESCAPES.find(
    (escape) => match.old.includes(escape) && match.replacement.includes(escape) && !region.includes(escape),
  )
  if (drift !== undefined) {
    return fail(
      `escape drift: old_string and new_string have ${drift} where the file has a plain ${drift.slice(1)}; ` +
        "send both without the backslash",
    )
  }
  const doubled = strategy === "escape_normalized" && isDoubled(match)
  const old = strategy === "escape_normalized" ? unescapeControls(match.old) : match.old
  return ok(reindent(doubled ? unescapeControls(written) : written, { from: baseIndent(old), to: baseIndent(region) }))
}

const DOUBTFUL_ESCAPES = [String.raw`\'`, String.raw`\"`]

/** The whole call was escaped twice: the file has real line feeds, both strings only literal ones. */
function isDoubled({ region, old, replacement }: MatchedReplacement): boolean {
  const literal = String.raw`\n`
  return !old.includes("\n") && !replacement.includes("\n") && region.includes("\n") && !region.includes(literal)
}

/**
 * A literal `\t` that indents, or `\r` that ends a line, is a tab or a CR in a file that has these and not the literal ones.
 * Elsewhere in a line it belongs to the code, for example to a string.
 */
function withRealIndentation({ stored, replacement }: MatchedReplacement): string {
  let text = replacement
  if (stored.includes("\t") && !stored.includes(String.raw`\t`)) {
    text = text.replaceAll(/^(?:[ \t]|\\t)+/gm, (indent) => indent.replaceAll(String.raw`\t`, "\t"))
  }
  if (stored.includes("\r") && !stored.includes(String.raw`\r`)) text = text.replaceAll(/\\r$/gm, "\r")
  return text
}

/** The indentation of the first line that has text. */
function baseIndent(text: string): string {
  const first = text.split("\n").find((line) => line.trim() !== "") ?? ""
  return /^[ \t]*/.exec(first)?.[0] ?? ""
}

/** Shifts all lines by the difference of two indentations; relative indentation stays. */
export function reindent(text: string, { from, to }: { readonly from: string; readonly to: string }): string {
  if (from === to) return text
  const lines = text.split("\n")
  return lines.map((line) => (line.trim() === "" ? line : moveLine(line, from, to))).join("\n")
}

function moveLine(line: string, from: string, to: string): string {
  if (to.startsWith(from)) return to.slice(from.length) + line
  if (!from.startsWith(to)) return line.startsWith(from) ? to + line.slice(from.length) : line
  const indent = /^[ \t]*/.exec(line)?.[0].length ?? 0
  return line.slice(Math.min(indent, from.length - to.length))
}
