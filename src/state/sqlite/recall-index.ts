import { closeSync, openSync, rmSync } from "node:fs"
import { dirname } from "node:path"
import type { Clock } from "../../base/clock.ts"
import { makeDirectories } from "../../base/make-directories.ts"
import { errorCode } from "../../base/system-error.ts"
import type { SessionId } from "../../protocol/identifiers.ts"
import type { StoreLog } from "../store.ts"
import { connect } from "./connection.ts"
import type { Connection, Database } from "./connection.ts"
import {
  forgetChunks,
  keepChunks,
  readChunks,
  readIdsOf,
  readIdsUnder,
  readIndexedRefs,
  readPostings,
  readTermUse,
  readTermsAlike,
  readTermsFrom,
} from "./recall-chunks.ts"
import type { IndexedChunk, IndexedRef, NewChunk, TermUse } from "./recall-chunks.ts"
import { RECALL_SCHEMA, RECALL_SCHEMA_VERSION } from "./recall-schema.ts"
import { dropVectors, keepVectors, nearestChunks, readChunksWithoutVector, vectorDims } from "./recall-vectors.ts"
import type { NearChunk, TextHash } from "./recall-vectors.ts"
import { number, sessionId, textOrNull } from "./row-values.ts"
import { toStoreError } from "./store-failure.ts"

export interface OpenRecallIndexOptions {
  readonly path: string
  readonly clock: Clock
  readonly log: StoreLog
}

/**
 * Texts by their words, across sessions, memory and learnings. Everything in it was copied from somewhere else: the file may be
 * deleted at any time and is made again. Operations reject with a `StoreError` when the engine gave up.
 */
export interface RecallIndex {
  /** Replaces what is kept under the kinds and refs of the chunks; with `mark` it also notes how far a session is indexed. */
  put(chunks: readonly NewChunk[], mark?: SessionMark): Promise<void>
  /** Forgets everything. */
  clear(): Promise<void>
  /** Removes a ref, and with it all refs below (`<ref>#…`). */
  remove(ref: string): Promise<void>
  refs(kind: IndexedChunk["kind"]): Promise<readonly IndexedRef[]>

  /** The entries that hold a term, by id. */
  postings(terms: readonly string[]): Promise<ReadonlyMap<string, readonly number[]>>
  idsOf(kinds: readonly string[]): Promise<readonly number[]>
  /** Of a ref and all refs below it. */
  idsUnder(ref: string): Promise<readonly number[]>
  chunks(ids: readonly number[]): Promise<readonly IndexedChunk[]>
  termUse(terms: readonly string[]): Promise<TermUse>
  /** Known terms that begin so, most used first. */
  termsFrom(prefix: string, limit: number): Promise<readonly string[]>
  /** Known terms that share most runs of three letters with this one, and some that begin like it. */
  termsAlike(term: string, limit: number): Promise<readonly string[]>

  marks(ids: readonly SessionId[]): Promise<ReadonlyMap<SessionId, SessionMark>>
  markedSessions(): Promise<readonly SessionId[]>
  note(key: string): Promise<string | undefined>
  setNote(key: string, value: string): Promise<void>

  vectorDims(): Promise<number | undefined>
  dropVectors(): Promise<void>
  /** Texts that have no vector yet, newest first. */
  withoutVector(limit: number): Promise<readonly TextHash[]>
  putVectors(vectors: readonly { readonly textHash: string; readonly vector: Float32Array }[]): Promise<void>
  nearest(
    vector: Float32Array,
    page: { readonly kinds: readonly string[]; readonly limit: number },
  ): Promise<readonly NearChunk[]>

  close(): Promise<void>
}

/** How far a session's messages are in the index. */
export interface SessionMark {
  readonly sessionId: SessionId
  readonly lastMessageId: number
  readonly lastActivity: number
  readonly messageCount: number
}

/** Opens the index, made anew when it is missing, damaged or of another version. */
export async function openRecallIndex(options: OpenRecallIndexOptions): Promise<RecallIndex> {
  try {
    return await openOnce(options)
  } catch (error) {
    const failure = toStoreError(error, options.path)
    if (failure.kind !== "corrupt") throw failure
    options.log.warning(`The recall index ${options.path} is damaged; it is made again.`)
    for (const side of ["", "-wal", "-shm"]) rmSync(`${options.path}${side}`, { force: true })
    return await openOnce(options)
  }
}

async function openOnce(options: OpenRecallIndexOptions): Promise<RecallIndex> {
  createPrivateFile(options.path)
  const connection = connect({ ...options, readOnly: false })
  try {
    await connection.bare((db) => {
      db.get("PRAGMA journal_mode = WAL")
      // A power cut may cost the last entries, which are indexed again; a sync for each of them would cost more.
      db.exec("PRAGMA synchronous = NORMAL")
    })
    if ((await connection.read(schemaVersion)) !== RECALL_SCHEMA_VERSION) await connection.write(setUp)
    return recallIndex(connection)
  } catch (error) {
    await connection.close()
    throw error
  }
}

function createPrivateFile(path: string): void {
  makeDirectories(dirname(path))
  try {
    closeSync(openSync(path, "wx", 0o600))
  } catch (error) {
    if (errorCode(error) !== "EEXIST") throw error
  }
}

function schemaVersion(db: Database): number {
  return number(db.get("PRAGMA user_version") ?? {}, "user_version")
}

function setUp(db: Database): void {
  if (schemaVersion(db) !== RECALL_SCHEMA_VERSION) makeTables(db)
}

function makeTables(db: Database): void {
  for (const { name, create } of RECALL_SCHEMA) {
    db.exec(`DROP TABLE IF EXISTS ${name}`)
    db.exec(create)
  }
  db.exec(`PRAGMA user_version = ${RECALL_SCHEMA_VERSION}`)
}

function recallIndex({ read, write, close }: Connection): RecallIndex {
  return {
    put: (chunks, mark) =>
      write((db) => {
        keepChunks(db, chunks)
        if (mark !== undefined) keepMark(db, mark)
      }),
    clear: () => write(makeTables),
    remove: (ref) =>
      write((db) => {
        forgetChunks(db, ref)
        db.run("DELETE FROM indexed_sessions WHERE session_id = ?", ref)
      }),
    refs: (kind) => read((db) => readIndexedRefs(db, kind)),

    postings: (terms) => read((db) => readPostings(db, terms)),
    idsOf: (kinds) => read((db) => readIdsOf(db, kinds)),
    idsUnder: (ref) => read((db) => readIdsUnder(db, ref)),
    chunks: (ids) => read((db) => readChunks(db, ids)),
    termUse: (terms) => read((db) => readTermUse(db, terms)),
    termsFrom: (prefix, limit) => read((db) => readTermsFrom(db, prefix, limit)),
    termsAlike: (term, limit) => read((db) => readTermsAlike(db, term, limit)),

    marks: (ids) => read((db) => readMarks(db, ids)),
    markedSessions: () =>
      read((db) => db.all("SELECT session_id FROM indexed_sessions").map((row) => sessionId(row, "session_id"))),
    note: (key) => read((db) => readNote(db, key)),
    setNote: (key, value) =>
      write((db) => {
        db.run("INSERT OR REPLACE INTO notes(key, value) VALUES (?, ?)", key, value)
      }),

    vectorDims: () => read(vectorDims),
    dropVectors: () => write(dropVectors),
    withoutVector: (limit) => read((db) => readChunksWithoutVector(db, limit)),
    putVectors: (vectors) => write((db) => keepVectors(db, vectors)),
    nearest: (vector, page) => read((db) => nearestChunks(db, vector, page)),

    close,
  }
}

function keepMark(db: Database, mark: SessionMark): void {
  db.run(
    "INSERT OR REPLACE INTO indexed_sessions(session_id, last_message_id, last_activity, message_count) VALUES (?, ?, ?, ?)",
    mark.sessionId,
    mark.lastMessageId,
    mark.lastActivity,
    mark.messageCount,
  )
}

function readMarks(db: Database, ids: readonly SessionId[]): ReadonlyMap<SessionId, SessionMark> {
  const rows = db.all(
    "SELECT * FROM indexed_sessions WHERE session_id IN (SELECT value FROM json_each(?))",
    JSON.stringify(ids),
  )
  return new Map(
    rows.map((row) => {
      const mark = {
        sessionId: sessionId(row, "session_id"),
        lastMessageId: number(row, "last_message_id"),
        lastActivity: number(row, "last_activity"),
        messageCount: number(row, "message_count"),
      }
      return [mark.sessionId, mark]
    }),
  )
}

function readNote(db: Database, key: string): string | undefined {
  const row = db.get("SELECT value FROM notes WHERE key = ?", key)
  return row === undefined ? undefined : (textOrNull(row, "value") ?? undefined)
}
