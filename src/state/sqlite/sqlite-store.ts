import type { ReportProgress } from "../../base/progress.ts"
import { errorMessage } from "../../base/system-error.ts"
import type { SessionId } from "../../protocol/identifiers.ts"
import type { MessageWords } from "../../protocol/message-words.ts"
import type {
  AutoPruneOptions,
  AutoPruneOutcome,
  CompactOutcome,
  SessionStore,
  StoreInfo,
  StoreLogger,
} from "../store.ts"
import type { Connection, Database } from "./connection.ts"
import { compressionTip, idsWithPrefix, lineage, lineageRoot, resolveId, resumeTarget, setArchived } from "./lineage.ts"
import { branch, releaseCompression, rotate, tryLockCompression } from "./rotate-session.ts"
import { numberOrNull, textOrNull } from "./row-values.ts"
import * as sessions from "./session-rows.ts"
import { nextTitle, resolveTitle, setGeneratedTitle, setTitle, titleOwner } from "./title-rows.ts"
import { addExtras, appendMessages, readConversation, readMessages, replaceMessages, undoTo } from "./transcript.ts"

interface Parts {
  readonly connection: Connection
  readonly info: StoreInfo
  readonly log: StoreLogger
  /** Epoch seconds. */
  readonly now: () => number
  readonly sleep: (ms: number) => Promise<void>
}

/** Maps each store operation to its transaction. Modules that a conversation does not need are imported on first use. */
export function sqliteStore(parts: Parts): SessionStore {
  const { info, log, now } = parts
  const { read, write, close } = parts.connection
  const store: SessionStore = {
    info,

    createSession: (session) => write((db) => sessions.insertSession(db, session)),
    startSession: (session, messages, title) =>
      write((db) => {
        sessions.insertSession(db, session)
        const ids = appendMessages(db, { id: session.id, messages, at: now() })
        setGeneratedTitle(db, session.id, title)
        return ids
      }),
    ensureSession: (session) => write((db) => sessions.ensureSession(db, session)),
    endSession: (id, reason) => write((db) => sessions.endSession(db, { id, reason, at: now() })),
    reopenSession: (id) => write((db) => sessions.reopenSession(db, id)),
    session: (id) => read((db) => sessions.selectSession(db, id)),
    revision: (id) => read((db) => sessions.readRevision(db, id)),

    append: (id, messages, totals, options) =>
      write((db) => {
        if (options?.open === true) sessions.requireNotContinued(db, id)
        if (options?.since !== undefined) sessions.requireRevision(db, id, options.since)
        if (totals !== undefined) sessions.changeTotals(db, { id, totals, mode: "add", at: now() })
        return appendMessages(db, { id, messages, at: now() })
      }),
    replaceMessages: (id, messages) => write((db) => replaceMessages(db, { id, messages, at: now() })),
    undoTo: (id, messageId) => write((db) => undoTo(db, { id, messageId }, log)),
    addExtras: (additions) =>
      write((db) => {
        for (const { messageId, extras } of additions) addExtras(db, messageId, { ...extras })
      }),
    messages: (id, options) =>
      read((db) => readMessages(db, { id, includeInactive: options?.includeInactive === true }, log)),
    conversation: (id, options) =>
      read((db) => readConversation(db, { id, withAncestors: options?.withAncestors === true }, log)),
    messagesAround: async (messageId, window) => {
      const { messagesAround } = await import("./message-window.ts")
      return await read((db) => messagesAround(db, { messageId, window }, log))
    },
    anchoredView: async (messageId, window) => {
      const { anchoredView } = await import("./message-window.ts")
      return await read((db) => anchoredView(db, { messageId, window }, log))
    },

    search: async (query, options = {}) => {
      const { searchMessages } = await import("./search.ts")
      return await read((db) => searchMessages(db, { query, options }, { search: info.search, log }))
    },
    words: messageWords(parts),
    list: async (options = {}) => {
      const { selectSessions } = await import("./list-sessions.ts")
      return await read((db) => selectSessions(db, options))
    },
    count: async (options = {}) => {
      const { countConversations } = await import("./list-sessions.ts")
      return await read((db) => countConversations(db, options))
    },

    setTitle: (id, title) => write((db) => setTitle(db, id, title)),
    setGeneratedTitle: (id, title) => write((db) => setGeneratedTitle(db, id, title)),
    nextTitle: (title) => read((db) => nextTitle(db, title)),
    resolveTitle: (title) => read((db) => resolveTitle(db, title)),
    titleOwner: (title) => read((db) => titleOwner(db, title)),
    idsWithPrefix: (prefix, limit) => read((db) => idsWithPrefix(db, prefix, limit)),
    resolveId: (idOrPrefix) => read((db) => resolveId(db, idOrPrefix)),
    resumeTarget: (nameOrId) => read((db) => resumeTarget(db, nameOrId)),
    compressionTip: (id) => read((db) => compressionTip(db, id)),
    latestSession: async (sources, accepts) => {
      const { latestSession } = await import("./list-sessions.ts")
      return await read((db) => latestSession(db, sources, accepts))
    },
    lineage: (id) => read((db) => lineage(db, id)),
    lineageRoot: (id) => read((db) => lineageRoot(db, id)),

    addTotals: (id, totals) => write((db) => sessions.changeTotals(db, { id, totals, mode: "add", at: now() })),
    setTotals: (id, totals) => write((db) => sessions.changeTotals(db, { id, totals, mode: "set", at: now() })),
    setModel: (id, model) => write((db) => sessions.setModel(db, id, model)),
    setDirectory: (id, cwd) => write((db) => sessions.setDirectory(db, id, cwd)),
    setSystemPrompt: (id, prompt, modelConfig) =>
      write((db) => sessions.setSystemPrompt(db, { id, prompt, modelConfig })),
    setArchived: (id, archived) => write((db) => setArchived(db, id, archived)),

    rotate: (parent, child, messages = [], known) =>
      write((db) => rotate(db, { parent, child, at: now(), ...(known === undefined ? {} : { known }) }, messages)),
    branch: (parent, child, options) => write((db) => branch(db, { parent, child, at: now() }, options)),
    tryLockCompression: (id, holder, options) =>
      write((db) => tryLockCompression(db, { ...options, id, holder, at: now() })),
    releaseCompression: (id, holder) => write((db) => releaseCompression(db, id, holder)),

    deleteSession: async (id) => {
      const { deletedWith, removeMessages, removeRows, removeSessionFiles } = await import("./delete-sessions.ts")
      const deleted = await read((db) => deletedWith(db, id))
      // A process that still has the session open may add messages; the last transaction removes them.
      for (const session of deleted) {
        while (await inTurn(parts, (db) => removeMessages(db, session, PRUNED_AT_ONCE)));
      }
      await write((db) => removeRows(db, deleted))
      removeSessionFiles(info.location, deleted, log)
      return deleted.length > 0
    },
    deleteIfEmpty: async (id) => {
      const { deleteIfEmpty } = await import("./delete-sessions.ts")
      return await write((db) => deleteIfEmpty(db, id))
    },
    sweep: async () => {
      const { sweep } = await import("./delete-sessions.ts")
      return await write((db) => sweep(db, now()))
    },
    prune: async ({ dryRun, ...request }) => {
      const { pruneCandidates, removeSome, removeSessionFiles } = await import("./delete-sessions.ts")
      const candidates = await read((db) => pruneCandidates(db, { ...request, now: now() }))
      if (dryRun === true) return candidates
      const deleted: SessionId[] = []
      // The newest session of a chain goes first: without its parent it would be indexed again.
      for (const id of candidates.toReversed()) {
        let state: ReturnType<typeof removeSome> = "more"
        while (state === "more") state = await inTurn(parts, (db) => removeSome(db, id, PRUNED_AT_ONCE))
        if (state === "gone") deleted.push(id)
      }
      removeSessionFiles(info.location, deleted, log)
      return deleted
    },
    autoPrune: (options) => autoPrune(store, options, { now, compact: () => compactSmall(parts) }),
    exportSession: async (id, options) => {
      const { exportSessionRow } = await import("./reports.ts")
      const includeInactive = options?.includeInactive === true
      return await read((db) => exportSessionRow(db, { id, includeInactive }, log))
    },
    meta: {
      get: (key) => read((db) => readMeta(db, key)),
      set: (key, value) => write((db) => writeMeta(db, key, value)),
    },
    optimize: async (options) => {
      const { fullTextTables, mergeFullText } = await import("./full-text.ts")
      options?.progress?.({ step: "merging the search index" })
      for (const table of await read(fullTextTables)) {
        let more = await inTurn(parts, (db) => mergeFullText(db, table, "first"))
        while (more) more = await inTurn(parts, (db) => mergeFullText(db, table, "next"))
      }
      options?.progress?.(undefined)
      return await compact(parts, options?.progress)
    },
    stats: async () => {
      const { readStats } = await import("./reports.ts")
      return await read((db) => readStats(db, info))
    },
    activity: async (options) => {
      const { readActivity } = await import("./activity.ts")
      return await read((db) => readActivity(db, options))
    },
    close,
  }
  return store
}

/**
 * One of many short transactions, followed by a pause that is as long: other processes wait for the lock to save their messages.
 */
async function inTurn<T>({ connection, sleep }: Parts, work: (db: Database) => T): Promise<T> {
  const started = performance.now()
  const result = await connection.write(work)
  await sleep(Math.min(performance.now() - started, MAX_PAUSE_MS))
  return result
}

async function compact({ connection, info }: Parts, progress?: ReportProgress): Promise<CompactOutcome> {
  const { compactDatabase } = await import("./compact.ts")
  return await connection.whileClosed(() => compactDatabase(info.location, progress))
}

/** At the exit of a conversation: not for a database that takes longer than a second or two, and not for a few free pages. */
async function compactSmall(parts: Parts): Promise<void> {
  const pragma = (db: Database, name: string): number => numberOrNull(db.get(`PRAGMA ${name}`) ?? {}, name) ?? 0
  const { pages, free, pageSize } = await parts.connection.withoutTransaction((db) => ({
    pages: pragma(db, "page_count"),
    free: pragma(db, "freelist_count"),
    pageSize: pragma(db, "page_size"),
  }))
  if (free * 10 < pages || pages * pageSize > COMPACTED_AT_EXIT_BYTES) return
  await compact(parts)
}

const COMPACTED_AT_EXIT_BYTES = 128 * 1024 * 1024

function messageWords({ connection: { read }, info, log }: Parts): MessageWords {
  const isSearchable = info.search !== "none"
  const load = () => import("./message-words.ts")
  return {
    highestId: () => read((db) => numberOrNull(db.get("SELECT max(id) AS id FROM messages") ?? {}, "id") ?? 0),
    between: async (ranges) => {
      const { wordsBetween } = await load()
      return isSearchable ? await read((db) => wordsBetween(db, ranges, log)) : ranges.map(() => [])
    },
    messagesWith: async (groups, scope) => {
      const { messagesWithWords } = await load()
      return isSearchable ? await read((db) => messagesWithWords(db, groups, scope)) : groups.map(() => [])
    },
    containing: async (literal, sessionIds) => {
      const { messagesContaining } = await load()
      return info.search === "full" ? await read((db) => messagesContaining(db, literal, sessionIds)) : []
    },
    idsOfSession: async (session) => {
      const { idsOfSessions } = await load()
      return await read((db) => idsOfSessions(db, [session]))
    },
    newestPrompt: async (session) => {
      const { newestPrompt } = await load()
      return await read((db) => newestPrompt(db, session))
    },
    inScope: async (ids, scope) => {
      const { messagesInScope } = await load()
      return await read((db) => messagesInScope(db, ids, scope))
    },
    around: async (ids, distance) => {
      const { messagesAroundIds } = await load()
      return await read((db) => messagesAroundIds(db, ids, distance))
    },
  }
}

/** Messages. Removing one from both full-text tables can take a millisecond. */
const PRUNED_AT_ONCE = 100
const MAX_PAUSE_MS = 100

const LAST_AUTO_PRUNE = "last_auto_prune"

/** Runs at start-up, so it reports errors as an outcome. An attempt counts even when it prunes nothing. */
async function autoPrune(
  store: SessionStore,
  options: AutoPruneOptions,
  port: { readonly now: () => number; readonly compact: () => Promise<void> },
): Promise<AutoPruneOutcome> {
  try {
    const last = Number((await store.meta.get(LAST_AUTO_PRUNE)) ?? 0)
    if (port.now() - last < options.minIntervalHours * 3600) return { kind: "not-due" }
    await store.meta.set(LAST_AUTO_PRUNE, String(port.now()))
    const deleted = await store.prune({ olderThanDays: options.olderThanDays })
    if (deleted.length > 0 && options.vacuum) await port.compact()
    return { kind: "pruned", sessions: deleted.length }
  } catch (error) {
    return { kind: "failed", message: errorMessage(error) }
  }
}

function readMeta(db: Database, key: string): string | undefined {
  const row = db.get("SELECT value FROM state_meta WHERE key = ?", key)
  return row === undefined ? undefined : (textOrNull(row, "value") ?? undefined)
}

function writeMeta(db: Database, key: string, value: string): void {
  db.run(
    "INSERT INTO state_meta(key, value) VALUES (?, ?) ON CONFLICT(key) DO UPDATE SET value = excluded.value",
    key,
    value,
  )
}
