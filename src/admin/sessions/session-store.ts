import { existsSync } from "node:fs"
import { openSqliteStore } from "../../state/sqlite/open-store.ts"
import { StoreError, type SessionRow, type SessionStore } from "../../state/store.ts"
import type { HomeContext } from "../home-context.ts"

/** What is needed to open the session database of a home. */
export type SessionStoreContext = Pick<HomeContext, "home" | "clock" | "log">

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
export async function openSessionStore({ home, clock, log }: SessionStoreContext): Promise<SessionStore | undefined> {
  const options = { path: home.file("state.db"), clock, log }
  if (!existsSync(options.path)) return undefined
  try {
    return await openSqliteStore(options)
  } catch (error) {
    if (!(error instanceof StoreError) || (error.kind !== "read-only" && error.kind !== "disk-full")) throw error
    return openSqliteStore({ ...options, readOnly: true })
  }
}

/** Finds a session by id, unique id prefix or title: exactly that session, not its continuation. */
export async function findSession(store: SessionStore, name: string): Promise<SessionRow | undefined> {
  const id = (await store.resolveId(name)) ?? (await store.resolveTitle(name))
  return id === undefined ? undefined : await store.session(id)
}
