import { existsSync } from "node:fs"
import { ambiguousSession } from "../../app/services/ambiguous-session.ts"
import { isSessionId } from "../../protocol/identifiers.ts"
import { openSqliteStore } from "../../state/sqlite/open-store.ts"
import { StoreError, type SessionRow, type SessionStore } from "../../state/store.ts"
import type { HomeContext } from "../home-context.ts"

/** What is needed to open the session database of a home. */
export type SessionStoreContext = Pick<HomeContext, "home" | "clock" | "log" | "notify" | "progress">

/** Opens the session database while `work` runs. Returns undefined when the home has no database. */
export async function withSessionStore<T>(
  context: SessionStoreContext,
  work: (store: SessionStore) => Promise<T>,
): Promise<T | undefined> {
  const store = await openSessionStore(context)
  if (store === undefined) return undefined
  try {
    return await work(store)
  } finally {
    await store.close()
  }
}

/**
 * Opens the session database; the caller closes it. Returns undefined when the home has none: reading must not create one.
 * A database that cannot be written is opened read-only, which is enough to list, search and export.
 */
export async function openSessionStore(context: SessionStoreContext): Promise<SessionStore | undefined> {
  const { home, clock, log, notify, progress } = context
  const options = {
    path: home.file("state.db"),
    clock,
    log,
    ...(notify !== undefined && { onRepair: notify }),
    ...(progress !== undefined && { progress }),
  }
  if (!existsSync(options.path)) return undefined
  try {
    return await openSqliteStore(options)
  } catch (error) {
    if (!(error instanceof StoreError) || (error.kind !== "read-only" && error.kind !== "disk-full")) throw error
    return openSqliteStore({ ...options, readOnly: true })
  }
}

/**
 * Finds exactly the session with this id or title, not its continuation; else the one whose id starts with `name`. Throws a `StoreError`
 * when several do.
 */
export async function findExactSession(store: SessionStore, name: string): Promise<SessionRow | undefined> {
  if (!isSessionId(name)) return undefined
  const byId = await store.session(name)
  if (byId !== undefined) return byId
  const id = (await store.titleOwner(name.trim())) ?? (await store.resolveId(name))
  if (id !== undefined) return await store.session(id)
  const ambiguous = await ambiguousSession(store, name)
  if (ambiguous !== undefined) throw new StoreError("ambiguous", ambiguous)
  return undefined
}

/** As `findExactSession`, else the newest session of this title's lineage: `Title #3` for `Title`. For reading only. */
export async function findSession(store: SessionStore, name: string): Promise<SessionRow | undefined> {
  const exact = await findExactSession(store, name)
  if (exact !== undefined) return exact
  const newest = await store.resolveTitle(name)
  return newest === undefined ? undefined : await store.session(newest)
}
