import { rmSync } from "node:fs"
import type { Clock } from "../../../base/clock.ts"
import type { SemanticIndex, IndexedSession } from "../../../protocol/semantic-index.ts"
import type { SessionId } from "../../../protocol/identifiers.ts"
import type { StoreLogger } from "../../store.ts"
import { connect } from "../connection.ts"
import type { Connection, Database } from "../connection.ts"
import { createPrivateFile } from "../create-private-file.ts"
import {
  deleteChunks,
  putChunks,
  readChunks,
  readIdsOfKinds,
  readIdsUnderRef,
  readIndexedRefs,
  readPostings,
  readTermStatistics,
  readSimilarTerms,
  readTermsWithPrefix,
} from "./chunks.ts"
import { INDEX_SCHEMA, INDEX_SCHEMA_VERSION } from "./schema.ts"
import { deleteVectors, putVectors, nearestChunks, readTextsWithoutVector, readVectorDimensions } from "./vectors.ts"
import { number, sessionId, textOrNull } from "../row-values.ts"
import { toStoreError } from "../store-failure.ts"

export interface OpenSemanticIndexOptions {
  readonly path: string
  readonly clock: Clock
  readonly log: StoreLogger
}

/** Opens the index. Creates it when it is missing, and rebuilds it when it is damaged or has another schema version. */
export async function openSemanticIndex(options: OpenSemanticIndexOptions): Promise<SemanticIndex> {
  try {
    return await openOnce(options)
  } catch (error) {
    const failure = toStoreError(error, options.path)
    if (failure.kind !== "corrupt") throw failure
    options.log.warning(`The semantic search index ${options.path} is damaged. It will be rebuilt.`)
    for (const suffix of ["", "-wal", "-shm"]) rmSync(`${options.path}${suffix}`, { force: true })
    return await openOnce(options)
  }
}

async function openOnce(options: OpenSemanticIndexOptions): Promise<SemanticIndex> {
  createPrivateFile(options.path)
  const connection = connect({ ...options, readOnly: false })
  try {
    await connection.withoutTransaction((db) => {
      db.get("PRAGMA journal_mode = WAL")
      // A power failure may lose the last chunks. They are indexed again, which costs less than syncing every write.
      db.exec("PRAGMA synchronous = NORMAL")
    })
    if ((await connection.read(schemaVersion)) !== INDEX_SCHEMA_VERSION) await connection.write(setUp)
    return semanticIndex(connection)
  } catch (error) {
    await connection.close()
    throw error
  }
}

function schemaVersion(db: Database): number {
  return number(db.get("PRAGMA user_version") ?? {}, "user_version")
}

function setUp(db: Database): void {
  if (schemaVersion(db) !== INDEX_SCHEMA_VERSION) createTables(db)
}

function createTables(db: Database): void {
  for (const { name, create } of INDEX_SCHEMA) {
    db.exec(`DROP TABLE IF EXISTS ${name}`)
    db.exec(create)
  }
  db.exec(`PRAGMA user_version = ${INDEX_SCHEMA_VERSION}`)
}

function semanticIndex({ read, write, close }: Connection): SemanticIndex {
  return {
    put: (chunks, session) =>
      write((db) => {
        putChunks(db, chunks)
        if (session !== undefined) putIndexedSession(db, session)
      }),
    clear: () => write(createTables),
    remove: (ref) =>
      write((db) => {
        deleteChunks(db, ref)
        db.run("DELETE FROM indexed_sessions WHERE session_id = ?", ref)
      }),
    refs: (kind) => read((db) => readIndexedRefs(db, kind)),

    postings: (terms) => read((db) => readPostings(db, terms)),
    idsOfKinds: (kinds) => read((db) => readIdsOfKinds(db, kinds)),
    idsUnderRef: (ref) => read((db) => readIdsUnderRef(db, ref)),
    chunks: (ids) => read((db) => readChunks(db, ids)),
    termStatistics: (terms) => read((db) => readTermStatistics(db, terms)),
    termsWithPrefix: (prefix, limit) => read((db) => readTermsWithPrefix(db, prefix, limit)),
    similarTerms: (term, limit) => read((db) => readSimilarTerms(db, term, limit)),

    indexedSessions: (ids) => read((db) => readIndexedSessions(db, ids)),
    indexedSessionIds: () =>
      read((db) => db.all("SELECT session_id FROM indexed_sessions").map((row) => sessionId(row, "session_id"))),
    metadata: (key) => read((db) => readMetadata(db, key)),
    setMetadata: (key, value) =>
      write((db) => {
        db.run("INSERT OR REPLACE INTO notes(key, value) VALUES (?, ?)", key, value)
      }),

    vectorDimensions: () => read(readVectorDimensions),
    deleteVectors: () => write(deleteVectors),
    textsWithoutVector: (limit) => read((db) => readTextsWithoutVector(db, limit)),
    putVectors: (vectors) => write((db) => putVectors(db, vectors)),
    nearest: (vector, page) => read((db) => nearestChunks(db, vector, page)),

    close,
  }
}

function putIndexedSession(db: Database, session: IndexedSession): void {
  db.run(
    "INSERT OR REPLACE INTO indexed_sessions(session_id, last_message_id, last_activity, message_count) VALUES (?, ?, ?, ?)",
    session.sessionId,
    session.lastMessageId,
    session.lastActivity,
    session.messageCount,
  )
}

function readIndexedSessions(db: Database, ids: readonly SessionId[]): ReadonlyMap<SessionId, IndexedSession> {
  const rows = db.all(
    "SELECT * FROM indexed_sessions WHERE session_id IN (SELECT value FROM json_each(?))",
    JSON.stringify(ids),
  )
  return new Map(
    rows.map((row) => {
      const session = {
        sessionId: sessionId(row, "session_id"),
        lastMessageId: number(row, "last_message_id"),
        lastActivity: number(row, "last_activity"),
        messageCount: number(row, "message_count"),
      }
      return [session.sessionId, session]
    }),
  )
}

function readMetadata(db: Database, key: string): string | undefined {
  const row = db.get("SELECT value FROM notes WHERE key = ?", key)
  return row === undefined ? undefined : (textOrNull(row, "value") ?? undefined)
}
