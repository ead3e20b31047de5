import { closeSync, openSync, renameSync, rmSync, statSync, writeSync } from "node:fs"
import { assertNever } from "../../base/assert-never.ts"
import { fail, ok, type Result } from "../../base/result.ts"
import { errorCode, explainSystemError } from "../../base/system-error.ts"
import type { SessionId } from "../../protocol/identifiers.ts"
import type { SessionRow, SessionStore } from "../../state/store.ts"
import { findSession, openSessionStore, withSessionStore, type SessionStoreContext } from "./session-store.ts"

/**
 * `jsonl`: a session with all its fields and messages; with `includeUndone`, also the messages that `/undo` removed.
 * `trajectory`: training data.
 */
export interface ExportFormat {
  readonly kind: "jsonl" | "trajectory"
  readonly includeUndone?: boolean
}

/** A session with all its fields and messages. Returns undefined when there is no session with this name. */
export function exportSession(
  context: SessionStoreContext,
  name: string,
): Promise<Readonly<Record<string, unknown>> | undefined> {
  return withSessionStore(context, async (store) => {
    const session = await findSession(store, name)
    return session === undefined ? undefined : store.exportSession(session.id)
  })
}

/** The lines of one session: none in a format that has no line for it, undefined when there is no session with this name. */
export function exportSessionLines(
  context: SessionStoreContext,
  name: string,
  format: ExportFormat,
): Promise<readonly string[] | undefined> {
  return withSessionStore(context, async (store) => {
    const session = await findSession(store, name)
    if (session === undefined) return undefined
    const line = await lineOf(store, session, format)
    return line === undefined ? [] : [line]
  })
}

/** Yields a line for each session of one source, or all, one at a time: a whole export may not fit in memory. */
export async function* exportSessions(
  context: SessionStoreContext,
  options: { readonly source: string | undefined; readonly signal: AbortSignal; readonly format: ExportFormat },
): AsyncGenerator<string, void> {
  const store = await openSessionStore(context)
  if (store === undefined) return
  try {
    for (const id of await sessionIds(store, options.source)) {
      options.signal.throwIfAborted()
      const session = await store.session(id)
      const line = session === undefined ? undefined : await lineOf(store, session, options.format)
      if (line !== undefined) yield line
    }
  } finally {
    await store.close()
  }
}

async function lineOf(store: SessionStore, session: SessionRow, format: ExportFormat): Promise<string | undefined> {
  switch (format.kind) {
    case "jsonl": {
      const exported = await store.exportSession(session.id, { includeInactive: format.includeUndone === true })
      return exported === undefined ? undefined : JSON.stringify(exported)
    }
    case "trajectory": {
      const { trajectoryOf } = await import("./export-trajectories.ts")
      return await trajectoryOf(store, session)
    }
    default:
      return assertNever(format.kind)
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
  lines: AsyncIterable<string> | Iterable<string>,
): Promise<Result<number, ExportFileFailure>> {
  const partial = `${path}.partial-${process.pid}`
  try {
    if (statSync(path, { throwIfNoEntry: false })?.isDirectory() === true) return fail({ kind: "is-directory" })
    const count = await writeLines(partial, lines)
    if (count > 0) renameSync(partial, path)
    return ok(count)
  } catch (error) {
    if (errorCode(error) === undefined) throw error
    return fail({ kind: "cannot-write", reason: explainSystemError(error) })
  } finally {
    rmSync(partial, { force: true })
  }
}

async function writeLines(path: string, lines: AsyncIterable<string> | Iterable<string>): Promise<number> {
  const descriptor = openSync(path, "wx", 0o600)
  let count = 0
  try {
    for await (const line of lines) {
      writeSync(descriptor, `${line}\n`)
      count += 1
    }
    return count
  } finally {
    closeSync(descriptor)
  }
}
