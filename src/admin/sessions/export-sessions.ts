import { closeSync, openSync, renameSync, rmSync, statSync, writeSync } from "node:fs"
import { fail, ok, type Result } from "../../base/result.ts"
import { errorCode, explainSystemError } from "../../base/system-error.ts"
import type { SessionId } from "../../protocol/identifiers.ts"
import type { SessionStore } from "../../state/store.ts"
import { findSession, openSessionStore, withSessionStore, type SessionStoreContext } from "./session-store.ts"

/** A session with all its messages, one line of an export file. */
export type ExportedSession = Readonly<Record<string, unknown>>

/** Returns undefined when there is no session with this name. */
export function exportSession(context: SessionStoreContext, name: string): Promise<ExportedSession | undefined> {
  return withSessionStore(context, async (store) => {
    const session = await findSession(store, name)
    return session === undefined ? undefined : store.exportSession(session.id)
  })
}

/** Yields the sessions of one source, or all, one at a time: a whole export may not fit in memory. */
export async function* exportSessions(
  context: SessionStoreContext,
  options: { readonly source: string | undefined; readonly signal: AbortSignal },
): AsyncGenerator<ExportedSession, void> {
  const store = await openSessionStore(context)
  if (store === undefined) return
  try {
    for (const id of await sessionIds(store, options.source)) {
      options.signal.throwIfAborted()
      const session = await store.exportSession(id)
      if (session !== undefined) yield session
    }
  } finally {
    await store.close()
  }
}

async function sessionIds(store: SessionStore, source: string | undefined): Promise<readonly SessionId[]> {
  const nodes = await store.lineage()
  if (source === undefined) return nodes.map((node) => node.id)
  const rows = await Promise.all(nodes.map((node) => store.session(node.id)))
  return rows.flatMap((row) => (row !== undefined && row.source === source ? [row.id] : []))
}

export type ExportFileFailure =
  | { readonly kind: "is-directory" }
  | { readonly kind: "cannot-write"; readonly reason: string }

/**
 * Writes one session per line and returns their number. The file appears under its name only when it is complete; without
 * sessions there is no file.
 */
export async function writeExportFile(
  path: string,
  sessions: AsyncIterable<ExportedSession> | Iterable<ExportedSession>,
): Promise<Result<number, ExportFileFailure>> {
  const partial = `${path}.partial-${process.pid}`
  try {
    if (statSync(path, { throwIfNoEntry: false })?.isDirectory() === true) return fail({ kind: "is-directory" })
    const count = await writeLines(partial, sessions)
    if (count > 0) renameSync(partial, path)
    return ok(count)
  } catch (error) {
    if (errorCode(error) === undefined) throw error
    return fail({ kind: "cannot-write", reason: explainSystemError(error) })
  } finally {
    rmSync(partial, { force: true })
  }
}

async function writeLines(
  path: string,
  sessions: AsyncIterable<ExportedSession> | Iterable<ExportedSession>,
): Promise<number> {
  const descriptor = openSync(path, "wx", 0o600)
  let count = 0
  try {
    for await (const session of sessions) {
      writeSync(descriptor, `${JSON.stringify(session)}\n`)
      count += 1
    }
    return count
  } finally {
    closeSync(descriptor)
  }
}
