import { takeCodePoints } from "../../../base/text.ts"
import type { ToolContext } from "../../../toolkit/tool.ts"
import { holdsSecrets } from "../paths/refused-path.ts"
import { displayPath } from "../paths/display-path.ts"
import { unifiedDiff } from "./unified-diff.ts"
import type { DiffSides } from "./unified-diff.ts"

/** The model wrote the change itself and needs only enough to check it; the user may want to see more. */
const MAX_MODEL_CHARS = 16_000
const MAX_USER_CHARS = 200_000

export function boundDiff(
  diff: string,
  { redact }: ToolContext,
): { readonly forModel: string; readonly forUser: string } {
  const masked = redact(diff, { codeFile: true })
  return { forModel: cut(masked, MAX_MODEL_CHARS), forUser: cut(masked, MAX_USER_CHARS) }
}

/** The diff of one file. Not shown for files with secrets, because context lines would reveal them. */
export function fileDiff(path: string, sides: DiffSides, { workspace, ports }: ToolContext): string {
  const name = displayPath(path, workspace)
  const diff = unifiedDiff(name, sides)
  return diff !== "" && holdsSecrets(path, ports.files?.directories)
    ? `(the change of ${name} is not shown: the file holds secrets)\n`
    : diff
}

/** Cuts after a complete line and states how many lines are missing. */
function cut(diff: string, max: number): string {
  const head = takeCodePoints(diff, max)
  if (head === diff) return diff
  const kept = head.slice(0, head.lastIndexOf("\n") + 1)
  const left = diff.slice(kept.length).split("\n").length - 1
  return `${kept}[... ${left} more lines of the diff are not shown]\n`
}
