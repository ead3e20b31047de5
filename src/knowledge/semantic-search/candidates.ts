import type { Concept, Form } from "./concepts.ts"
import { weightOf } from "./ranking.ts"
import type { TermStatistics } from "../../protocol/semantic-index.ts"

/** Bounds the time of a search. Terms with longer posting lists are too common to influence the ranking. */
const MAX_POSTINGS = 6000

/** Returns the forms whose postings are worth reading, rarest first, within a total of `MAX_POSTINGS`. */
export function selectiveForms(concepts: readonly Concept[], statistics: TermStatistics): readonly Form[] {
  const forms = concepts
    .flatMap((concept) => concept.forms)
    .toSorted((a, b) => weightOf(b, statistics) - weightOf(a, statistics))
  let postings = 0
  return forms.filter(({ terms }, index) => {
    postings += terms.reduce((sum, term) => sum + (statistics.documentFrequency.get(term) ?? 0), 0)
    return index === 0 || postings <= MAX_POSTINGS
  })
}

interface Search {
  readonly concepts: readonly Concept[]
  readonly statistics: TermStatistics
  readonly postings: ReadonlyMap<string, readonly number[]>
}

/** Returns the ids of the chunks that cover most of the query, unordered. Forms without postings are ignored. */
export function bestCandidates(
  { concepts, statistics, postings }: Search,
  page: { readonly limit: number; readonly isIncluded: (id: number) => boolean },
): readonly number[] {
  let size = 0
  for (const ids of postings.values()) for (const id of ids) if (id >= size) size = id + 1
  const totals = new Float32Array(size)
  const best = new Float32Array(size)
  const seen: number[] = []
  for (const { forms } of concepts) {
    const touched: number[] = []
    for (const form of forms) {
      const weight = weightOf(form, statistics)
      for (const id of chunksWith(form, postings)) {
        if (best[id] === 0) touched.push(id)
        if (weight > (best[id] ?? 0)) best[id] = weight
      }
    }
    for (const id of touched) {
      if (totals[id] === 0) seen.push(id)
      totals[id] = (totals[id] ?? 0) + (best[id] ?? 0)
      best[id] = 0
    }
  }
  return highest(seen.filter(page.isIncluded), totals, page.limit)
}

/** Returns the chunks that contain all terms of a form. */
function chunksWith({ terms }: Form, postings: Search["postings"]): readonly number[] {
  const [first = [], ...others] = terms.map((term) => postings.get(term) ?? [])
  return others.reduce((ids, other) => {
    const present = new Set(other)
    return ids.filter((id) => present.has(id))
  }, first)
}

const BUCKETS = 1000

/** Returns the ids with the highest totals. Counts by bucket first, because sorting thousands of ids dominates a search. */
function highest(ids: readonly number[], totals: Float32Array, limit: number): readonly number[] {
  if (ids.length <= limit) return ids
  const maximum = ids.reduce((max, id) => Math.max(max, totals[id] ?? 0), 0)
  const bucketOf = (id: number): number => Math.floor(((totals[id] ?? 0) / maximum) * BUCKETS)
  const counts = new Uint32Array(BUCKETS + 1)
  for (const id of ids) counts[bucketOf(id)] = (counts[bucketOf(id)] ?? 0) + 1
  let bucket = BUCKETS
  for (let found = counts[bucket] ?? 0; found < limit && bucket > 0; found += counts[bucket] ?? 0) bucket -= 1
  return ids
    .filter((id) => bucketOf(id) >= bucket)
    .toSorted((a, b) => (totals[b] ?? 0) - (totals[a] ?? 0) || b - a)
    .slice(0, limit)
}
