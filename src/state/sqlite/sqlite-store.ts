import { errorMessage } from "../../base/system-error.ts"
import type { AutoPruneOptions, AutoPruneOutcome, SessionStore, StoreFacts, StoreLog } from "../store.ts"
import { truncateLog } from "./connection.ts"
import type { Connection, Database } from "./connection.ts"
import { optimizeFullText } from "./full-text.ts"
import { compressionTip, lineage, lineageRoot, resolveId, resumeTarget, setArchived } from "./lineage.ts"
import { branch, releaseCompression, rotate, tryLockCompression } from "./rotation.ts"
import { textOrNull } from "./row-values.ts"
import * as sessions from "./session-rows.ts"
import { nextTitle, resolveTitle, setGeneratedTitle, setTitle } from "./title-rows.ts"
import { addExtras, appendMessages, readConversation, readMessages, replaceMessages, undoTo } from "./transcript.ts"

interface Parts {
  readonly connection: Connection
  readonly facts: StoreFacts
  readonly log: StoreLog
  /** Epoch seconds. */
  readonly now: () => number
}

/**
 * The store's table of contents: which transaction each operation is, and the file that does it. What a conversation does not need
 * to begin and go on is loaded with its first use.
 */
export function sqliteStore(parts: Parts): SessionStore {
  const { facts, log, now } = parts
  const { read, write, bare, close } = parts.connection
  const store: SessionStore = {
    facts,

    createSession: (session) => write((db) => sessions.createSession(db, session)),
    startSession: (session, messages, title) =>
      write((db) => {
        sessions.createSession(db, session)
        const ids = appendMessages(db, { id: session.id, messages, at: now() })
        setGeneratedTitle(db, session.id, title)
        return ids
      }),
    ensureSession: (session) => write((db) => sessions.ensureSession(db, session)),
    endSession: (id, reason) => write((db) => sessions.endSession(db, { id, reason, at: now() })),
    reopenSession: (id) => write((db) => sessions.reopenSession(db, id)),
    session: (id) => read((db) => sessions.readSession(db, id)),
    mark: (id) => read((db) => sessions.readMark(db, id)),

    append: (id, messages, totals, options) =>
      write((db) => {
        if (options?.open === true) sessions.requireOpen(db, id)
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
    around: async (messageId, window) => {
      const { messagesAround } = await import("./navigation.ts")
      return await read((db) => messagesAround(db, { messageId, window }, log))
    },
    anchoredView: async (messageId, window) => {
      const { anchoredView } = await import("./navigation.ts")
      return await read((db) => anchoredView(db, { messageId, window }, log))
    },

    search: async (query, options = {}) => {
      const { searchMessages } = await import("./search.ts")
      return await read((db) => searchMessages(db, { query, options }, { search: facts.search, log }))
    },
    list: async (options = {}) => {
      const { listSessions } = await import("./listing.ts")
      return await read((db) => listSessions(db, options))
    },
    count: async (options = {}) => {
      const { countConversations } = await import("./listing.ts")
      return await read((db) => countConversations(db, options))
    },

    setTitle: (id, title) => write((db) => setTitle(db, id, title)),
    setGeneratedTitle: (id, title) => write((db) => setGeneratedTitle(db, id, title)),
    nextTitle: (title) => read((db) => nextTitle(db, title)),
    resolveTitle: (title) => read((db) => resolveTitle(db, title)),
    resolveId: (idOrPrefix) => read((db) => resolveId(db, idOrPrefix)),
    resumeTarget: (nameOrId) => read((db) => resumeTarget(db, nameOrId)),
    compressionTip: (id) => read((db) => compressionTip(db, id)),
    latestSession: async (sources) => {
      const { latestSession } = await import("./listing.ts")
      return await read((db) => latestSession(db, sources))
    },
    lineage: (id) => read((db) => lineage(db, id)),
    lineageRoot: (id) => read((db) => lineageRoot(db, id)),

    addTotals: (id, totals) => write((db) => sessions.changeTotals(db, { id, totals, mode: "add", at: now() })),
    setTotals: (id, totals) => write((db) => sessions.changeTotals(db, { id, totals, mode: "set", at: now() })),
    setModel: (id, model) => write((db) => sessions.setModel(db, id, model)),
    setDirectory: (id, cwd) => write((db) => sessions.setDirectory(db, id, cwd)),
    setSystemPrompt: (id, prompt) => write((db) => sessions.setSystemPrompt(db, id, prompt)),
    setArchived: (id, archived) => write((db) => setArchived(db, id, archived)),

    rotate: (parent, child, messages = [], known) =>
      write((db) => rotate(db, { parent, child, at: now(), ...(known === undefined ? {} : { known }) }, messages)),
    branch: (parent, child, options) => write((db) => branch(db, { parent, child, at: now() }, options)),
    tryLockCompression: (id, holder, options) =>
      write((db) => tryLockCompression(db, { ...options, id, holder, at: now() })),
    releaseCompression: (id, holder) => write((db) => releaseCompression(db, id, holder)),

    deleteSession: async (id) => {
      const { deleteSession, removeSessionFiles } = await import("./removal.ts")
      const gone = await write((db) => deleteSession(db, id))
      removeSessionFiles(facts.location, gone, log)
      return gone.length > 0
    },
    deleteIfEmpty: async (id) => {
      const { deleteIfEmpty } = await import("./removal.ts")
      return await write((db) => deleteIfEmpty(db, id))
    },
    sweep: async () => {
      const { sweep } = await import("./removal.ts")
      return await write((db) => sweep(db, now()))
    },
    prune: async ({ dryRun, ...request }) => {
      const { pruneCandidates, removeRows, removeSessionFiles } = await import("./removal.ts")
      if (dryRun === true) return await read((db) => pruneCandidates(db, { ...request, now: now() }))
      const gone = await write((db) => {
        const ids = pruneCandidates(db, { ...request, now: now() })
        removeRows(db, ids)
        return ids
      })
      removeSessionFiles(facts.location, gone, log)
      return gone
    },
    autoPrune: (options) => autoPrune(store, options, { now, vacuum: () => bare((db) => vacuum(db, log)) }),
    exportSession: async (id) => {
      const { exportSession } = await import("./reports.ts")
      return await read((db) => exportSession(db, id, log))
    },
    meta: {
      get: (key) => read((db) => readMeta(db, key)),
      set: (key, value) => write((db) => writeMeta(db, key, value)),
    },
    optimize: async () => {
      await write((db) => optimizeFullText(db))
      await bare((db) => vacuum(db, log))
    },
    stats: async () => {
      const { readStats } = await import("./reports.ts")
      return await read((db) => readStats(db, facts))
    },
    close,
  }
  return store
}

const LAST_AUTO_PRUNE = "last_auto_prune"

/** Runs at start-up: whatever goes wrong is an outcome, and the attempt counts even when nothing was old enough. */
async function autoPrune(
  store: SessionStore,
  options: AutoPruneOptions,
  port: { readonly now: () => number; readonly vacuum: () => Promise<void> },
): Promise<AutoPruneOutcome> {
  try {
    const last = Number((await store.meta.get(LAST_AUTO_PRUNE)) ?? 0)
    if (port.now() - last < options.minIntervalHours * 3600) return { kind: "not-due" }
    await store.meta.set(LAST_AUTO_PRUNE, String(port.now()))
    const gone = await store.prune({ olderThanDays: options.olderThanDays })
    if (gone.length > 0 && options.vacuum) await port.vacuum()
    return { kind: "pruned", sessions: gone.length }
  } catch (error) {
    return { kind: "failed", message: errorMessage(error) }
  }
}

/** Rewrites the file without its free pages; the log goes first, so that the space is really given back. */
function vacuum(db: Database, log: StoreLog): void {
  truncateLog(db, log)
  db.exec("VACUUM")
  truncateLog(db, log)
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
