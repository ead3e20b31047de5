import { takeCodePoints } from "../../base/text.ts"
import type { ToolContext } from "../../toolkit/tool.ts"
import { holdsSecrets } from "./refused-source.ts"
import { shownPath } from "./store-file.ts"
import { unifiedDiff } from "./unified-diff.ts"
import type { DiffSides } from "./unified-diff.ts"

/** The model wrote the change itself and needs only enough to check it; a person may want to see more. */
const MAX_MODEL_CHARS = 16_000
const MAX_PERSON_CHARS = 200_000

export function shownDiff(
  diff: string,
  { redact }: ToolContext,
): { readonly forModel: string; readonly forPeople: string } {
  const masked = redact(diff, { codeFile: true })
  return { forModel: cut(masked, MAX_MODEL_CHARS), forPeople: cut(masked, MAX_PERSON_CHARS) }
}

/** The change of one file; lines around it would show what no file tool reads. */
export function fileDiff(path: string, sides: DiffSides, { workspace, ports }: ToolContext): string {
  const name = shownPath(path, workspace)
  const diff = unifiedDiff(name, sides)
  return diff !== "" && holdsSecrets(path, ports.files?.places)
    ? `(the change of ${name} is not shown: it holds secrets)\n`
    : diff
}

/** Cut behind a whole line, and said how much is missing. */
function cut(diff: string, max: number): string {
  const head = takeCodePoints(diff, max)
  if (head === diff) return diff
  const kept = head.slice(0, head.lastIndexOf("\n") + 1)
  const left = diff.slice(kept.length).split("\n").length - 1
  return `${kept}[... ${left} more lines of the diff are not shown]\n`
}
