import type { Concept, Form } from "./concepts.ts"
import { weightOf } from "./ranking.ts"
import type { TermUse } from "./recall-index.ts"

/** Reading longer lists takes longer than anybody wants to wait; what stands everywhere decides nothing. */
const MAX_POSTINGS = 6000

/** The forms worth reading the lists of, the telling ones first. */
export function tellingForms(concepts: readonly Concept[], use: TermUse): readonly Form[] {
  const forms = concepts.flatMap((concept) => concept.forms).toSorted((a, b) => weightOf(b, use) - weightOf(a, use))
  let postings = 0
  return forms.filter(({ terms }, at) => {
    postings += terms.reduce((sum, term) => sum + (use.uses.get(term) ?? 0), 0)
    return at === 0 || postings <= MAX_POSTINGS
  })
}

interface Search {
  readonly concepts: readonly Concept[]
  readonly use: TermUse
  readonly postings: ReadonlyMap<string, readonly number[]>
}

/** The entries that cover most of the query, in no order; a form whose list was not read counts for nothing here. */
export function bestCandidates(
  { concepts, use, postings }: Search,
  page: { readonly limit: number; readonly isWanted: (id: number) => boolean },
): readonly number[] {
  let size = 0
  for (const ids of postings.values()) for (const id of ids) if (id >= size) size = id + 1
  const totals = new Float32Array(size)
  const best = new Float32Array(size)
  const seen: number[] = []
  for (const { forms } of concepts) {
    const touched: number[] = []
    for (const form of forms) {
      const weight = weightOf(form, use)
      for (const id of holding(form, postings)) {
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
  return highest(seen.filter(page.isWanted), totals, page.limit)
}

/** The entries that hold all words of a form. */
function holding({ terms }: Form, postings: Search["postings"]): readonly number[] {
  const [first = [], ...others] = terms.map((term) => postings.get(term) ?? [])
  return others.reduce((ids, other) => {
    const known = new Set(other)
    return ids.filter((id) => known.has(id))
  }, first)
}

const STEPS = 1000

/** Those with the highest totals. Sorting thousands for the sake of a hundred would take most of the time of a search. */
function highest(ids: readonly number[], totals: Float32Array, limit: number): readonly number[] {
  if (ids.length <= limit) return ids
  const most = ids.reduce((max, id) => Math.max(max, totals[id] ?? 0), 0)
  const stepOf = (id: number): number => Math.floor(((totals[id] ?? 0) / most) * STEPS)
  const counts = new Uint32Array(STEPS + 1)
  for (const id of ids) counts[stepOf(id)] = (counts[stepOf(id)] ?? 0) + 1
  let step = STEPS
  for (let found = counts[step] ?? 0; found < limit && step > 0; found += counts[step] ?? 0) step -= 1
  return ids
    .filter((id) => stepOf(id) >= step)
    .toSorted((a, b) => (totals[b] ?? 0) - (totals[a] ?? 0) || b - a)
    .slice(0, limit)
}
