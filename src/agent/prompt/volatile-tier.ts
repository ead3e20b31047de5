import { scanThreats } from "../../knowledge/threat-scan.ts"
import { dateText } from "./date-text.ts"
import { condensedMemoryBlock, memoryBlock } from "./memory-block.ts"
import type { DraftLayer } from "./prompt-budget.ts"

export interface VolatileFacts {
  /** The entries of the two memory files as they were when the session began. */
  readonly memory: { readonly memory: readonly string[]; readonly user: readonly string[] }
  readonly memoryLimits?: { readonly memory: number; readonly user: number }
  /** The block of an outside memory provider. */
  readonly externalMemory?: string
  /** What worked after an error, a line each, most used first. */
  readonly learnings?: readonly string[]
  /** The state of the working directory when the session began. */
  readonly runtimeIntrospection?: string
  readonly startedAt: Date
  readonly sessionId?: string
  readonly model: string
  readonly provider?: string
}

/** What changes from day to day; it comes last, so that the cached part before it stays long. */
export function volatileTier(facts: VolatileFacts): readonly DraftLayer[] {
  const limits = facts.memoryLimits ?? DEFAULT_LIMITS
  const notes = { target: "memory", entries: facts.memory.memory, limitChars: limits.memory } as const
  const profile = { target: "user", entries: facts.memory.user, limitChars: limits.user } as const
  const learnings = facts.learnings ?? []
  return [
    { name: "memory", text: memoryBlock(notes), shorten: (maxChars) => condensedMemoryBlock(notes, maxChars) },
    {
      name: "user profile",
      text: memoryBlock(profile),
      shorten: (maxChars) => condensedMemoryBlock(profile, maxChars),
    },
    { name: "external memory", text: facts.externalMemory ?? "" },
    {
      name: "learnings",
      text: learningsText(learnings, Number.POSITIVE_INFINITY),
      shorten: (maxChars) => learningsText(learnings, maxChars),
    },
    { name: "runtime introspection", text: facts.runtimeIntrospection ?? "", shorten: () => "" },
    { name: "date", text: dateText(facts) },
  ]
}

const DEFAULT_LIMITS = { memory: 2200, user: 1375 }
const LEARNINGS_TITLE = "Lessons from earlier errors:"

/** As many as fit, from the first. A line that looks like an attack is left out: the file may have been edited by anybody. */
function learningsText(learnings: readonly string[], maxChars: number): string {
  const lines: string[] = []
  let room = maxChars - LEARNINGS_TITLE.length
  for (const learning of learnings) {
    if (scanThreats(learning, "strict").length > 0) continue
    const line = `- ${learning.replaceAll(/\s+/gu, " ").trim()}`
    room -= line.length + 1
    if (room < 0) break
    lines.push(line)
  }
  return lines.length === 0 ? "" : [LEARNINGS_TITLE, ...lines].join("\n")
}
