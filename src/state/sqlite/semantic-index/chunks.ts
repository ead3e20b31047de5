import type {
  IndexedChunk,
  TextChunk,
  IndexedRef,
  EntryKind,
  TermStatistics,
} from "../../../protocol/semantic-index.ts"
import type { Database } from "../connection.ts"
import { BOUND_ROWID } from "../message-filter.ts"
import { number, text } from "../row-values.ts"
import type { Row } from "../row-values.ts"

/** Replaces all chunks of each (kind, ref). Leaves texts alone that have not changed. */
export function putChunks(db: Database, chunks: readonly TextChunk[]): void {
  const uses = new Map<string, number>()
  const texts = Map.groupBy(chunks, ({ kind, ref }) => `${kind} ${ref}`)
  for (const parts of texts.values()) {
    const [first] = parts
    if (first === undefined) continue
    const stored = db.all("SELECT * FROM entries WHERE ref = ? AND kind = ? ORDER BY chunk", first.ref, first.kind)
    if (hashes(stored) === parts.map(({ textHash }) => textHash).join(" ")) continue
    removeRows(db, stored, uses)
    for (const part of parts) insertChunk(db, part, uses)
  }
  updateUses(db, uses)
}

/** Matches a ref and the refs below it (`<ref>#…`); `$` is the character after `#`. */
const REF_AND_BELOW = "ref = ?1 OR (ref >= ?1 || '#' AND ref < ?1 || '$')"

/** Deletes a ref and the refs below it, of every kind. */
export function deleteChunks(db: Database, ref: string): void {
  const uses = new Map<string, number>()
  const rows = db.all(`SELECT * FROM entries WHERE ${REF_AND_BELOW}`, ref)
  removeRows(db, rows, uses)
  updateUses(db, uses)
}

export function readIndexedRefs(db: Database, kind: EntryKind): readonly IndexedRef[] {
  return db
    .all("SELECT ref, chunk, text_hash FROM entries WHERE kind = ?", kind)
    .map((row) => ({ ref: text(row, "ref"), chunk: number(row, "chunk"), textHash: text(row, "text_hash") }))
}

/** Reads each list as one string: a row object per id would take three times as long. */
export function readPostings(db: Database, terms: readonly string[]): ReadonlyMap<string, readonly number[]> {
  const postings = new Map<string, readonly number[]>()
  for (const term of new Set(terms)) {
    const row = db.get("SELECT group_concat(rowid) AS ids FROM entry_terms WHERE entry_terms MATCH ?", `"${term}"`)
    postings.set(term, splitIds(row))
  }
  return postings
}

export function readIdsOfKinds(db: Database, kinds: readonly string[]): readonly number[] {
  const row = db.get(
    "SELECT group_concat(id) AS ids FROM entries WHERE kind IN (SELECT value FROM json_each(?))",
    JSON.stringify(kinds),
  )
  return splitIds(row)
}

export function readIdsUnderRef(db: Database, ref: string): readonly number[] {
  return splitIds(db.get(`SELECT group_concat(id) AS ids FROM entries WHERE ${REF_AND_BELOW}`, ref))
}

function splitIds(row: Row | undefined): readonly number[] {
  const ids = row === undefined ? "" : text(row, "ids")
  return ids === "" ? [] : ids.split(",").map(Number)
}

export function readChunks(db: Database, ids: readonly number[]): readonly IndexedChunk[] {
  return db.all("SELECT * FROM entries WHERE id IN (SELECT value FROM json_each(?))", JSON.stringify(ids)).map(toChunk)
}

export function readTermStatistics(db: Database, terms: readonly string[]): TermStatistics {
  const totals = db.get("SELECT entries, terms FROM totals") ?? {}
  const entries = number(totals, "entries")
  const rows = db.all(
    "SELECT term, uses FROM terms WHERE term IN (SELECT value FROM json_each(?))",
    JSON.stringify(terms),
  )
  return {
    chunkCount: entries,
    averageLength: entries === 0 ? 0 : number(totals, "terms") / entries,
    documentFrequency: new Map(rows.map((row) => [text(row, "term"), number(row, "uses")])),
  }
}

export function readTermsWithPrefix(db: Database, prefix: string, limit: number): readonly string[] {
  return db
    .all(
      "SELECT term FROM terms WHERE term > ?1 AND term < ?1 || char(0x10FFFF) ORDER BY uses DESC, term LIMIT ?2",
      prefix,
      limit,
    )
    .map((row) => text(row, "term"))
}

export function readSimilarTerms(db: Database, term: string, limit: number): readonly string[] {
  const letters = Array.from(term)
  const shared = new Map<number, number>()
  for (const trigram of new Set(
    letters.slice(2).map((letter, index) => `${letters[index]}${letters[index + 1]}${letter}`),
  )) {
    const row = db.get(
      "SELECT group_concat(rowid) AS ids FROM term_trigrams WHERE term_trigrams MATCH ?",
      `"${trigram}"`,
    )
    for (const id of splitIds(row)) shared.set(id, (shared.get(id) ?? 0) + 1)
  }
  const ids = [...shared].toSorted(([a, few], [b, more]) => more - few || a - b).slice(0, limit)
  // Swapping two letters can leave a short word without any common trigram, so terms with the same prefix are added.
  return db
    .all(
      `SELECT term FROM terms WHERE id IN (SELECT value FROM json_each(?1))
       UNION SELECT term FROM (SELECT term FROM terms WHERE term >= ?2 AND term < ?2 || char(0x10FFFF)
         AND length(term) BETWEEN ?3 - 1 AND ?3 + 1 ORDER BY uses DESC, term LIMIT ${MAX_SAME_PREFIX})`,
      JSON.stringify(ids.map(([id]) => id)),
      letters.slice(0, PREFIX_LENGTH).join(""),
      letters.length,
    )
    .map((row) => text(row, "term"))
}

const PREFIX_LENGTH = 2
const MAX_SAME_PREFIX = 200

export function toChunk(row: Row): IndexedChunk {
  return {
    id: number(row, "id"),
    kind: chunkKind(text(row, "kind")),
    ref: text(row, "ref"),
    chunk: number(row, "chunk"),
    text: text(row, "text"),
    terms: splitTerms(row),
    textHash: text(row, "text_hash"),
    createdAt: number(row, "created_at"),
  }
}

function chunkKind(kind: string): EntryKind {
  return kind === "memory" || kind === "user" || kind === "learning" ? kind : "session"
}

function splitTerms(row: Row): readonly string[] {
  const joined = text(row, "terms")
  return joined === "" ? [] : joined.split(" ")
}

function hashes(rows: readonly Row[]): string {
  return rows.map((row) => text(row, "text_hash")).join(" ")
}

function insertChunk(db: Database, chunk: TextChunk, uses: Map<string, number>): void {
  const terms = chunk.terms.join(" ")
  const { rowId } = db.run(
    "INSERT INTO entries(kind, ref, chunk, text, terms, text_hash, created_at) VALUES (?, ?, ?, ?, ?, ?, ?)",
    chunk.kind,
    chunk.ref,
    chunk.chunk,
    chunk.text,
    terms,
    chunk.textHash,
    chunk.createdAt,
  )
  db.run(`INSERT INTO entry_terms(rowid, terms) VALUES (${BOUND_ROWID}, ?)`, rowId, terms)
  addUses(uses, chunk.terms, 1)
  db.run("UPDATE totals SET entries = entries + 1, terms = terms + ?", chunk.terms.length)
}

function removeRows(db: Database, rows: readonly Row[], uses: Map<string, number>): void {
  for (const row of rows) {
    const id = number(row, "id")
    // An external-content FTS5 table needs the old text in order to delete it.
    db.run(
      `INSERT INTO entry_terms(entry_terms, rowid, terms) VALUES ('delete', ${BOUND_ROWID}, ?)`,
      id,
      text(row, "terms"),
    )
    db.run("DELETE FROM entries WHERE id = ?", id)
    const terms = splitTerms(row)
    addUses(uses, terms, -1)
    db.run("UPDATE totals SET entries = entries - 1, terms = terms - ?", terms.length)
    db.run(
      "DELETE FROM memory_vectors WHERE text_hash = ?1 AND NOT EXISTS (SELECT 1 FROM entries WHERE text_hash = ?1)",
      text(row, "text_hash"),
    )
  }
}

function addUses(uses: Map<string, number>, terms: readonly string[], step: 1 | -1): void {
  for (const term of new Set(terms)) uses.set(term, (uses.get(term) ?? 0) + step)
}

/** Updates the term counts and deletes terms that no longer occur: deleted text must leave no trace. */
function updateUses(db: Database, uses: ReadonlyMap<string, number>): void {
  for (const [term, change] of uses) {
    if (change === 0) continue
    const stored = db.get("SELECT id, uses FROM terms WHERE term = ?", term)
    if (stored === undefined) {
      const { rowId } = db.run("INSERT INTO terms(term, uses) VALUES (?, ?)", term, change)
      db.run(`INSERT INTO term_trigrams(rowid, term) VALUES (${BOUND_ROWID}, ?)`, rowId, term)
      continue
    }
    const id = number(stored, "id")
    if (number(stored, "uses") + change > 0) {
      db.run("UPDATE terms SET uses = uses + ? WHERE id = ?", change, id)
      continue
    }
    db.run(`INSERT INTO term_trigrams(term_trigrams, rowid, term) VALUES ('delete', ${BOUND_ROWID}, ?)`, id, term)
    db.run("DELETE FROM terms WHERE id = ?", id)
  }
}
