import { jaccard, wordsOf } from "./error-words.ts"
import { fingerprintOf, mergeLearnings, provenAt } from "./learning.ts"
import type { Learning } from "./learning.ts"

const NEAR_DUPLICATE = 0.8
const UNUSED_AUTO_SECONDS = 180 * 86_400
const MAX_LEARNINGS = 1000

/**
 * What is left of many learnings: those that say nearly the same become one, what was noticed automatically and did not help in
 * half a year is dropped, and of too many the least proven go. Gives for each one that stays what it has become, in order.
 */
export function consolidateLearnings(
  learnings: readonly Learning[],
  options: { readonly now: number },
): ReadonlyMap<Learning, Learning> {
  const alive = learnings.filter(
    (learning) => learning.source !== "auto" || options.now - provenAt(learning) <= UNUSED_AUTO_SECONDS,
  )
  const kept = withoutNearDuplicates(alive)
  const best = new Set(kept.toSorted((a, b) => byWorth(a.learning, b.learning)).slice(0, MAX_LEARNINGS))
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
    const words = wordsOf(learning.pattern)
    const fingerprint = fingerprintOf(learning)
    const sameType = byType.get(learning.errorType) ?? []
    const twin = sameType.find((other) => other.fingerprint === fingerprint || nearlyEqual(other.words, words))
    if (twin !== undefined) {
      twin.learning = mergeLearnings(twin.learning, learning)
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

function byWorth(a: Learning, b: Learning): number {
  return isAuto(a) - isAuto(b) || b.timesUsed - a.timesUsed || provenAt(b) - provenAt(a)
}

function isAuto(learning: Learning): number {
  return learning.source === "auto" ? 1 : 0
}
