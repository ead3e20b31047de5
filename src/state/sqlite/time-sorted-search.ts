import type { Database } from "./connection.ts"
import { BLOCK_BITS } from "./derived-tables.ts"
import { BOUND_ROWID } from "./message-filter.ts"
import type { MessageFilter, Page } from "./message-filter.ts"
import { number, numberOrNull } from "./row-values.ts"

interface Candidate {
  readonly id: number
  readonly timestamp: number
}

interface Index {
  readonly table: string
  readonly match: string
}

interface Request {
  readonly filter: MessageFilter
  readonly page: Page
  readonly sort: "newest" | "oldest"
}

/**
 * Returns a page of matches by time, then by rank. Scans the index along the message ids from the newest or oldest end. Times nearly
 * always grow with the ids, so the scan usually ends when the page is full. Where they do not (the clock was set back, branches copied
 * old messages), `message_clock` bounds the remaining times, and the scan continues until none can be better.
 */
export function timeSortedIds(db: Database, index: Index, request: Request): readonly number[] {
  const { page } = request
  const candidates = collect(db, index, request)
  const ranks = ranksOfTies(db, index, candidates)
  const rank = (candidate: Candidate): number => ranks.get(candidate.id) ?? 0
  return candidates
    .toSorted((a, b) => byTime(request)(a, b) || rank(a) - rank(b) || b.id - a.id)
    .slice(page.offset, page.offset + page.limit)
    .map((candidate) => candidate.id)
}

function collect(db: Database, index: Index, request: Request): readonly Candidate[] {
  const { filter, page, sort } = request
  const needed = page.offset + page.limit
  let candidates: Candidate[] = []
  if (needed === 0) return candidates
  const rows = db.iterate(
    `SELECT f.rowid AS id, m.timestamp AS timestamp FROM ${index.table} f CROSS JOIN messages m ON m.id = f.rowid
       CROSS JOIN sessions s ON s.id = m.session_id
     WHERE f.${index.table} MATCH ? ${filter.sql} ORDER BY f.rowid ${sort === "newest" ? "DESC" : "ASC"}`,
    index.match,
    ...filter.values,
  )
  let checkedBlock: number | undefined
  for (const row of rows) {
    const candidate = { id: number(row, "id"), timestamp: number(row, "timestamp") }
    candidates.push(candidate)
    const block = Math.floor(candidate.id / BLOCK_SIZE)
    if (candidates.length < needed || block === checkedBlock) continue
    checkedBlock = block
    candidates = bestWithTies(candidates, needed, request)
    const last = candidates.at(needed - 1)
    if (last !== undefined && nothingBetterRemains(db, { seen: candidate.id, last, sort })) break
  }
  return candidates
}

const BLOCK_SIZE = 2 ** BLOCK_BITS

/** Returns the best `needed` candidates and those with the same time as the last, because rank decides between them. */
function bestWithTies(candidates: readonly Candidate[], needed: number, request: Request): Candidate[] {
  const sorted = candidates.toSorted(byTime(request))
  const last = sorted[needed - 1]
  return last === undefined ? sorted : sorted.filter((candidate) => byTime(request)(candidate, last) <= 0)
}

interface Scan {
  /** The last id that the scan has read. */
  readonly seen: number
  /** The last candidate of the page. */
  readonly last: Candidate
  readonly sort: "newest" | "oldest"
}

function nothingBetterRemains(db: Database, scan: Scan): boolean {
  const block = Math.floor(scan.seen / BLOCK_SIZE)
  const newest = scan.sort === "newest"
  const inBlock = newest
    ? db.get("SELECT max(timestamp) AS bound FROM messages WHERE id >= ? AND id < ?", block * BLOCK_SIZE, scan.seen)
    : db.get(
        "SELECT min(timestamp) AS bound FROM messages WHERE id > ? AND id < ?",
        scan.seen,
        (block + 1) * BLOCK_SIZE,
      )
  const inOtherBlocks = newest
    ? db.get("SELECT max(max_at) AS bound FROM message_clock WHERE block < ?", block)
    : db.get("SELECT min(min_at) AS bound FROM message_clock WHERE block > ?", block)
  return [inBlock, inOtherBlocks].every((row) => {
    const bound = row === undefined ? null : numberOrNull(row, "bound")
    return bound === null || (newest ? scan.last.timestamp > bound : scan.last.timestamp < bound)
  })
}

/** Computing a rank needs statistics over all matches, so it is done only for candidates with equal times. */
function ranksOfTies(db: Database, index: Index, candidates: readonly Candidate[]): ReadonlyMap<number, number> {
  const byTimestamp = Map.groupBy(candidates, (candidate) => candidate.timestamp)
  const tied = new Set(
    [...byTimestamp.values()].filter((group) => group.length > 1).flatMap((group) => group.map(({ id }) => id)),
  )
  const ranks = new Map<number, number>()
  if (tied.size === 0) return ranks
  const rows = db.iterate(
    `SELECT rowid AS id, rank FROM ${index.table}
     WHERE ${index.table} MATCH ? AND rowid >= ${BOUND_ROWID} AND rowid <= ${BOUND_ROWID}`,
    index.match,
    Math.min(...tied),
    Math.max(...tied),
  )
  for (const row of rows) if (tied.has(number(row, "id"))) ranks.set(number(row, "id"), number(row, "rank"))
  return ranks
}

function byTime(request: Request): (a: Candidate, b: Candidate) => number {
  return request.sort === "newest" ? (a, b) => b.timestamp - a.timestamp : (a, b) => a.timestamp - b.timestamp
}
