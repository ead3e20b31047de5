import { jaccard, errorWords } from "./error-words.ts"
import { fingerprintOf, mergeLearnings, lastConfirmedAt } from "./learning.ts"
import type { Learning } from "./learning.ts"

const NEAR_DUPLICATE = 0.8
const UNUSED_AUTO_SECONDS = 180 * 86_400
const MAX_LEARNINGS = 1000

/**
 * Merges near-duplicates, drops automatic learnings that did not help for half a year, and drops the least useful ones beyond the
 * limit. Returns each learning that stays, mapped to its merged form, in order.
 */
export function consolidateLearnings(
  learnings: readonly Learning[],
  options: { readonly now: number },
): ReadonlyMap<Learning, Learning> {
  const recent = learnings.filter(
    (learning) => learning.source !== "auto" || options.now - lastConfirmedAt(learning) <= UNUSED_AUTO_SECONDS,
  )
  const kept = withoutNearDuplicates(recent)
  const best = new Set(kept.toSorted((a, b) => byUsefulness(a.learning, b.learning)).slice(0, MAX_LEARNINGS))
  return new Map(kept.filter((entry) => best.has(entry)).map(({ original, learning }) => [original, learning]))
}

interface Kept {
  readonly original: Learning
  learning: Learning
  readonly words: ReadonlySet<string>
  readonly fingerprint: string
}

function withoutNearDuplicates(learnings: readonly Learning[]): readonly Kept[] {
  const byType = new Map<string, Kept[]>()
  return learnings.flatMap((learning) => {
    const words = errorWords(learning.pattern)
    const fingerprint = fingerprintOf(learning)
    const sameType = byType.get(learning.errorType) ?? []
    const duplicate = sameType.find((other) => other.fingerprint === fingerprint || nearlyEqual(other.words, words))
    if (duplicate !== undefined) {
      duplicate.learning = mergeLearnings(duplicate.learning, learning)
      return []
    }
    const entry: Kept = { original: learning, learning, words, fingerprint }
    sameType.push(entry)
    byType.set(learning.errorType, sameType)
    return [entry]
  })
}

function nearlyEqual(a: ReadonlySet<string>, b: ReadonlySet<string>): boolean {
  const sizes = Math.min(a.size, b.size) / Math.max(a.size, b.size)
  return sizes >= NEAR_DUPLICATE && jaccard(a, b) >= NEAR_DUPLICATE
}

function byUsefulness(a: Learning, b: Learning): number {
  return isAuto(a) - isAuto(b) || b.timesUsed - a.timesUsed || lastConfirmedAt(b) - lastConfirmedAt(a)
}

function isAuto(learning: Learning): number {
  return learning.source === "auto" ? 1 : 0
}
