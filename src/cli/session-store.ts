import { existsSync } from "node:fs"
import { systemClock } from "../base/clock.ts"
import type { Home } from "../config/home.ts"
import { openSqliteStore } from "../state/sqlite/open-store.ts"
import { StoreError, type SessionRow, type SessionStore } from "../state/store.ts"
import { CliError } from "./command.ts"
import { openCommandLog } from "./command-log.ts"

/**
 * Opens the sessions of a home for the length of `work`. Without a database `absent` answers: looking must not create one.
 * A file that cannot be written is opened for reading, which is enough to list, search and export.
 */
export async function withSessions<T>(
  home: Home,
  options: { readonly absent: () => T; readonly work: (store: SessionStore) => Promise<T> },
): Promise<T> {
  const path = home.file("state.db")
  if (!existsSync(path)) return options.absent()
  const store = await openForUse({ path, clock: systemClock, log: openCommandLog(home) })
  try {
    return await options.work(store)
  } finally {
    await store.close()
  }
}

async function openForUse(options: Parameters<typeof openSqliteStore>[0]): Promise<SessionStore> {
  try {
    return await openSqliteStore(options)
  } catch (error) {
    if (!(error instanceof StoreError) || (error.kind !== "read-only" && error.kind !== "disk-full")) throw error
    return openSqliteStore({ ...options, readOnly: true })
  }
}

/** The session a person named by id, start of an id, or title; exactly that one, not its continuation. */
export async function namedSession(store: SessionStore, words: readonly string[]): Promise<SessionRow> {
  const name = words.join(" ")
  const id = (await store.resolveId(name)) ?? (await store.resolveTitle(name))
  const session = id === undefined ? undefined : await store.session(id)
  if (session === undefined) throw noSession(words)
  return session
}

export function noSession(words: readonly string[]): CliError {
  return new CliError(`There is no session \`${words.join(" ")}\`. \`hermes sessions list --all\` shows them.`, {
    exitCode: 1,
  })
}
