import { scanThreats } from "../../knowledge/threat-scan.ts"
import type { FacetLayer } from "../facet.ts"

const TITLE = "Lessons from earlier errors:"

/** What worked after an error, one line each, most used first. */
export function learningsLayer(learnings: readonly string[]): FacetLayer {
  return {
    tier: "volatile",
    name: "learnings",
    text: learningsText(learnings, Number.POSITIVE_INFINITY),
    shorten: (maxChars) => learningsText(learnings, maxChars),
  }
}

/** As many as fit, from the first. Lines that look like a prompt injection are omitted: other programs can edit the file. */
function learningsText(learnings: readonly string[], maxChars: number): string {
  const lines: string[] = []
  let room = maxChars - TITLE.length
  for (const learning of learnings) {
    if (scanThreats(learning, "strict").length > 0) continue
    const line = `- ${learning.replaceAll(/\s+/gu, " ").trim()}`
    room -= line.length + 1
    if (room < 0) break
    lines.push(line)
  }
  return lines.length === 0 ? "" : [TITLE, ...lines].join("\n")
}
